"""A study as a submitted job: killed, its folder deleted, submitted again; the store outlives it all."""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.heads import ROOT, Head

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

STUDY: dict[str, Any] = {
    "name": "job",
    "model": {"name": "none", "variant": "none"},
    "engines": [{"name": "simulated", "search": {"max_running": [1, 8]}}],
    "workload": {"source": {"kind": "fixed", "input_tokens": 8, "output_tokens": 4}},
    "load": {"rates_rps": [10, 20]},
    "window": {"warmup_s": 0.2, "measure_s": 2, "drain_s": 2},
    "slo": {"ttft_s": 1},
    "budget": {"trials": 3},
    "search": {"prune": False},
}
LIMIT_S = 180.0


@pytest.fixture
def upload(tmp_path: Path) -> Path:
    folder = tmp_path / "upload"
    folder.mkdir()
    (folder / "study.yaml").write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    return folder


def submit(head: Head, upload: Path, job: str, *arguments: str) -> None:
    runtime_env = json.dumps({"env_vars": {"PYTHONPATH": str(ROOT)}})
    done = head.ray(
        "job", "submit", "--no-wait", "--submission-id", job, "--working-dir", str(upload),
        "--runtime-env-json", runtime_env, "--", sys.executable, "-m", "orchestrator.cli",
        "run", "study.yaml", *arguments,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def measured(store: Path) -> list[str]:
    lines = [line for path in store.glob("studies/*/journal*") if path.is_file() for line in path.open("rb")]
    events = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [event["key"] for event in events if event["event"] == "measured"]


def await_measured(head: Head, store: Path, job: str, count: int) -> None:
    give_up_at = time.monotonic() + LIMIT_S
    while len(measured(store)) < count:
        assert head.status(job) != "FAILED", head.ray("job", "logs", job).stdout
        assert time.monotonic() < give_up_at, head.ray("job", "logs", job).stdout
        time.sleep(0.2)


def kill_driver(store: Path) -> None:
    (lease,) = store.glob("studies/*/lease/*.json")
    os.kill(json.loads(lease.read_text(encoding="utf-8"))["owner"]["pid"], signal.SIGKILL)


def test_a_store_in_the_jobs_folder_is_refused(head: Head, upload: Path) -> None:
    submit(head, upload, "refused", "--store", "results")
    assert head.await_end("refused") == "FAILED"
    assert "deleted with the job" in head.ray("job", "logs", "refused").stdout


def test_a_killed_job_goes_on_from_its_store(head: Head, upload: Path, tmp_path: Path) -> None:
    store = tmp_path / "durable"
    submit(head, upload, "first", "--store", str(store))
    await_measured(head, store, "first", 2)
    kill_driver(store)
    assert head.await_end("first") == "FAILED"
    before = measured(store)
    for folder in head.folder.glob("ray/session_*/runtime_resources/working_dir_files/_ray_pkg_*"):
        shutil.rmtree(folder, ignore_errors=True)
    (upload / "again").write_text("another upload, so that Ray unpacks it anew", encoding="utf-8")
    submit(head, upload, "second", "--store", str(store), "--resume")
    assert head.await_end("second") == "SUCCEEDED", head.ray("job", "logs", "second").stdout
    keys = measured(store)
    assert keys[: len(before)] == before
    assert len(keys) == len(set(keys)) == 6
