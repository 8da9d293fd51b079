"""Candidates that cannot run here: recorded as such at once, beside others that are measured. Real servers, no Ray."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from adapters import registry
from orchestrator.cli.app import main
from orchestrator.environments.folder import STAMP, Stamp, interpreter_of
from orchestrator.models import resolve
from orchestrator.models.fetching import cache_folder
from orchestrator.telemetry.hardware import read_hardware

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300
STUDY: dict[str, Any] = {
    "name": "candidates",
    "model": {"name": "smollm2-135m"},
    "workload": {"source": {"kind": "fixed", "input_tokens": 8, "output_tokens": 4}},
    "load": {"rates_rps": [4]},
    "window": {"warmup_s": 0.2, "measure_s": 1.5, "drain_s": 5},
    "slo": {"ttft_s": 1},
    "budget": {"trials": 1, "max_retries": 0},
    "deploy": {"deployer": "local"},
}

without_cuda = pytest.mark.skipif(read_hardware().has_cuda, reason="says what a machine without CUDA lacks")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the user's weights and no engine."""
    folder = tmp_path_factory.mktemp("cache")
    resolve("smollm2-135m", "bf16")
    resolve("smollm2-135m", "bf16-hf")
    (folder / "models").symlink_to(cache_folder() / "models")
    return folder


def seatrial(*arguments: str, cache: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", *arguments],
        cwd=ROOT,
        env={**os.environ, "MLFLOW_TRACKING_URI": "", "COLUMNS": "200", "SEATRIAL_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def study_file(folder: Path, engines: list[dict[str, Any]], **changes: Any) -> str:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"engines": engines} | changes), encoding="utf-8")
    return str(path)


def trials_of(summary: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for trial in summary["trials"]:
        found.setdefault(trial["candidate"], []).append(trial)
    return found


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> dict[str, list[dict[str, Any]]]:
    """The trials of a study in which two candidates of four can run."""
    folder = tmp_path_factory.mktemp("mixed")
    engines = [
        {"name": "sglang"},
        {"name": "llamacpp", "version": "1.2.3"},
        {"name": "simulated", "label": "quick", "config": {"ttft_s": 0.01}, "search": {}},
        {"name": "simulated", "label": "slow", "config": {"ttft_s": 0.1}, "search": {}},
    ]
    path = study_file(folder, engines, budget={"trials": 3, "max_retries": 1})
    done = seatrial("run", path, "--store", str(folder / "store"), "--json", cache=cache)
    return trials_of(json.loads(done.stdout))


@without_cuda
def test_an_engine_without_its_hardware_is_one_infeasible_trial_at_once(mixed: dict[str, Any]) -> None:
    (trial,) = mixed["sglang"]
    assert (trial["outcome"], trial["number"], trial["assignment"]) == ("infeasible", 0, {})
    assert trial["wall_s"] == trial["engine_start_s"] == trial["replay_s"] == 0
    assert len(trial["reason"].splitlines()) == 1
    assert "CUDA" in trial["reason"]
    assert "seatrial engines install sglang" in trial["reason"]


def test_a_version_that_is_not_installed_is_infeasible_with_the_command(mixed: dict[str, Any]) -> None:
    (trial,) = mixed["llamacpp 1.2.3"]
    assert trial["outcome"] == "infeasible"
    assert len(trial["reason"].splitlines()) == 1
    assert "seatrial engines install llamacpp --version 1.2.3" in trial["reason"]


def test_the_others_are_measured(mixed: dict[str, Any]) -> None:
    assert set(mixed) == {"sglang", "llamacpp 1.2.3", "quick", "slow"}
    ((quick,), (slow,)) = mixed["quick"], mixed["slow"]
    assert (quick["outcome"], slow["outcome"]) == ("completed", "completed")
    quick_s, slow_s = (trial["measurements"][0]["ttft_s"]["mean"] for trial in (quick, slow))
    assert 0.01 <= quick_s < 0.1 <= slow_s


@pytest.mark.parametrize(
    ("engines", "expected"),
    [
        ([{"name": "simulated"}, {"name": "vlm"}], "engines.1.name: unknown engine 'vlm'; known: "),
        ([{"name": "simulated"}, {"name": "vlm"}], "did you mean 'vllm'?"),
        ([{"name": "vllm", "config": {"max_num_seq": 4}}], "did you mean 'max_num_seqs'?"),
        ([{"name": "vllm", "search": {"max_num_seq": [4]}}], "did you mean 'max_num_seqs'?"),
        ([{"name": "vllm", "search": {"max_num_seqs": [4, 0]}}], "engines.0.search: max_num_seqs: "),
        ([{"name": "vllm", "search": {"max_num_seqs": ["four"]}}], "seen 'four'"),
        ([{"name": "vllm", "search": {"max_num_seqs": []}}], "max_num_seqs: "),
        ([{"name": "simulated"}, {"name": "simulated"}], "simulated is there twice; tell candidates apart by label"),
        ([{"name": "simulated", "label": "a"}, {"name": "vllm", "label": "a"}], "a is there twice"),
        ([{"name": "simulated", "version": "9.9"}], "simulated is part of seatrial"),
        ([{"name": "vllm", "environment": {"path": "nowhere"}}], "environment.path nowhere: expected"),
        ([{"name": "vllm", "environment": {"path": sys.executable}}], "no module vllm"),
        ([{"name": "vllm", "environment": {"path": "a", "image": "b"}}], "exactly one of path, image and runtime_env"),
    ],
)
def test_a_study_that_cannot_be_meant_starts_nothing(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    engines: list[dict[str, Any]],
    expected: str,
) -> None:
    store = tmp_path / "store"
    monkeypatch.setattr(sys, "argv", ["seatrial", "run", study_file(tmp_path, engines), "--store", str(store)])
    with mock.patch.dict(os.environ, {"SEATRIAL_CACHE": str(cache)}), pytest.raises(SystemExit) as ended:
        main()
    seen = capsys.readouterr()
    assert ended.value.code == 2
    assert expected in " ".join(seen.err.split())
    assert seen.out == ""
    assert not store.exists() or not any(store.iterdir())


@without_cuda
def test_checking_an_engine_without_its_hardware_says_so_in_one_line(cache: Path) -> None:
    done = seatrial("engines", "check", "sglang", cache=cache, code=2)
    assert done.stderr == "error: sglang needs a CUDA GPU, and this machine shows none\n"
    assert done.stdout == ""


def pretend_installed(version: str, cache: Path) -> None:
    """Put a stamped environment whose interpreter is ours: what it runs is the pinned version under another name."""
    place = cache / "engines" / f"llamacpp-{version}-cpu"
    interpreter = interpreter_of(place)
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    stamp = Stamp(engine="llamacpp", distribution="xllamacpp", version=version, needs="cpu", lock_sha256=None)
    (place / STAMP).write_text(stamp.model_dump_json())


@pytest.mark.engine
def test_a_candidate_is_measured_once_its_obstacle_has_gone(tmp_path: Path, cache: Path) -> None:
    pinned = registry.get("llamacpp").environment.builds[0].version
    config = {"n_ctx": 512, "n_threads": 1}
    engines = [
        {"name": "llamacpp", "label": "pinned", "config": config, "search": {}},
        {"name": "llamacpp", "version": "99.0", "config": config, "search": {}},
    ]
    store = str(tmp_path / "store")
    path = study_file(tmp_path, engines, model={"name": "smollm2-135m", "variant": "q8_0"})
    before = json.loads(seatrial("run", path, "--store", store, "--json", cache=cache).stdout)
    assert [one["outcome"] for one in before["trials"]] == ["completed", "infeasible"]

    pretend_installed("99.0", cache)
    after = json.loads(seatrial("run", path, "--store", store, "--resume", "--json", cache=cache).stdout)
    assert after["study_id"] == before["study_id"]
    assert (after["versions"]["pinned"], after["versions"]["llamacpp 99.0"]) == (pinned, "99.0")
    (kept,), (measured,) = trials_of(after)["pinned"], trials_of(after)["llamacpp 99.0"]
    assert kept == trials_of(before)["pinned"][0]
    assert measured["outcome"] == "completed"
    assert measured["measurements"][0]["num_failed"] == 0
