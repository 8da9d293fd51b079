"""What an engine's version says of itself: recorded in `engines/`, or asked of the installed one."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from adapters.llamacpp.adapter import PROGRAM

HERE = Path(__file__).parent
GOLDEN = HERE / "engines"
ARGUMENTS = {"llamacpp": (str(PROGRAM),), "transformers": (), "vllm": ()}
"""Of each engine's question in `questions/`, which the engine's own interpreter runs."""
SETTINGS_OF_ENGINES = ("VLLM_", "HF_", "LLAMA_")
TIMEOUT_S = 300


def golden_path(engine: str, version: str) -> Path:
    return GOLDEN / f"{engine}-{version}.json"


def golden_facts(engine: str, version: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(golden_path(engine, version).read_text(encoding="utf-8"))
    return facts


def ask(engine: str, interpreter: Path) -> dict[str, Any]:
    """Run the engine's question, without what a person set for the engine in the environment."""
    question = HERE / "questions" / f"{engine}_facts.py"
    env = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS_OF_ENGINES)}
    told = subprocess.run(
        [interpreter, str(question), *ARGUMENTS[engine]],
        capture_output=True,
        text=True,
        check=True,
        env=env,
        timeout=TIMEOUT_S,
    )
    facts: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return facts


def record(engine: str, facts: dict[str, Any]) -> None:
    text = json.dumps(facts, indent=1, sort_keys=True) + "\n"
    golden_path(engine, facts["version"]).write_text(text, encoding="utf-8")
