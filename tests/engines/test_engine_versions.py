"""The installed engines still say of themselves what the golden files of their versions say.

For a new version: SEATRIAL_UPDATE_GOLDEN=1, then read the diff and add the version to the adapter's `verified`.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engines.environments import interpreter_for
from tests.engines.llamacpp_server import RunningLlamaCpp
from tests.golden.engine_facts import ask, golden_facts, record

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]  # the first run installs


def recorded(engine: str, seen: dict[str, Any]) -> dict[str, Any]:
    if os.environ.get("SEATRIAL_UPDATE_GOLDEN"):
        record(engine, seen)
    return golden_facts(engine, seen["version"])


@pytest.mark.parametrize("engine", ["transformers", "vllm"])
def test_an_installed_engine_is_as_recorded(engine: str) -> None:
    seen = ask(engine, interpreter_for(engine))
    assert seen == recorded(engine, seen)


def test_llama_cpp_is_as_recorded(llamacpp: RunningLlamaCpp) -> None:
    lines = llamacpp.get("/metrics").splitlines()
    series = {line.partition("{")[0].split()[0] for line in lines if line and not line.startswith("#")}
    seen = ask("llamacpp", Path(sys.executable)) | {"metrics": sorted(series)}
    assert seen == recorded("llamacpp", seen)
