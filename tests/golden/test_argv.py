"""Engines' command lines, word by word, from `argv/<engine>/<case>.json`: a configuration and what it must become.

After a change on purpose: SEATRIAL_UPDATE_GOLDEN=1, then read the diff.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import adapters
from adapters import registry
from adapters.samples import sample_model

GOLDEN = Path(__file__).parent / "argv"
CASES = sorted(GOLDEN.glob("*/*.json"))
OURS = str(Path(adapters.__path__[0]).resolve())
FIRST_PORT = 8080


def plan_of(engine: str, config: dict[str, Any]) -> dict[str, Any]:
    adapter = registry.get(engine)
    ports = {name: FIRST_PORT + offset for offset, name in enumerate(adapter.port_names())}
    model = sample_model(adapter.capabilities.formats[0])
    plan = adapter.launch_plan(adapter.config_type.model_validate(config), model, ports=ports)
    argv = [word.replace(OURS, "<adapters>") for word in plan.argv]
    seen = {"argv": [json.loads(word) if word.startswith("{") else word for word in argv], "env": dict(plan.env)}
    return seen | ({"serve_llm": dict(plan.serve_llm)} if plan.serve_llm is not None else {})


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_configuration_becomes_its_command(path: Path) -> None:
    golden = json.loads(path.read_text())
    seen = {"config": golden["config"], **plan_of(path.parent.name, golden["config"])}
    if os.environ.get("SEATRIAL_UPDATE_GOLDEN"):
        path.write_text(json.dumps(seen, indent=2) + "\n")
        return
    assert seen == golden


def test_every_engine_has_golden_commands() -> None:
    assert {path.parent.name for path in CASES} == set(registry.BUILT_IN)
