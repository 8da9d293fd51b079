"""The published study of several engines in short: two real engines, two loads, one trial each, through Ray."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters import registry
from orchestrator.environments import install
from orchestrator.studies.reading import CATALOG
from orchestrator.telemetry.hardware import read_hardware

pytestmark = [pytest.mark.cluster, pytest.mark.engine]

ROOT = Path(__file__).parents[2]
SHORT: dict[str, Any] = {
    "load": {"rates_rps": [0.5, 1]},
    "window": {"warmup_s": 1, "measure_s": 8, "drain_s": 8, "request_timeout_s": 30},
    "budget": {"trials": 1, "minutes": 6},
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    install(registry.get("vllm"), read_hardware(), version=None, say=print)
    folder = tmp_path_factory.mktemp("engines")
    spec = yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))
    engines = [one for one in spec["engines"] if one["name"] in {"llamacpp", "vllm"}]
    path = folder / "short.yaml"
    path.write_text(yaml.safe_dump({**spec, **SHORT, "name": "engines-short", "engines": engines}))
    command = [sys.executable, "-m", "orchestrator.cli", "run", str(path), "--store", str(folder / "store"), "--json"]
    env = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_both_engines_are_measured_at_both_loads(study: dict[str, Any]) -> None:
    assert {one["candidate"]: one["outcome"] for one in study["trials"]} == {
        "llamacpp": "completed",
        "vllm": "completed",
    }
    for trial in study["trials"]:
        assert [one["offered_rps"] for one in trial["measurements"]] == [0.5, 1.0]
        assert all(one["num_completed"] > 0 for one in trial["measurements"])
    assert not study["is_simulated"]


def test_the_same_traffic_was_offered_to_both(study: dict[str, Any]) -> None:
    first, second = ([one["schedule_digest"] for one in trial["measurements"]] for trial in study["trials"])
    assert first == second


def test_nothing_is_unequal_between_them(study: dict[str, Any]) -> None:
    assert study["unequal"] == []


def test_they_serve_the_same_model(study: dict[str, Any]) -> None:
    (pair,) = study["agreement"]
    assert pair["num_equal"] >= 7
