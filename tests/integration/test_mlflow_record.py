"""The record in a real MLflow: a database of its own, a server that does not answer, a driver that is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from orchestrator.domain.clock import SystemClock
from orchestrator.domain.outcome import Completed, Infeasible
from orchestrator.domain.runner import TrialTimes
from orchestrator.tracking.journal import read_journal
from orchestrator.tracking.opening import catch_up, open_tracker
from orchestrator.tracking.projection import Attachments
from orchestrator.tracking.store import Store, open_store
from orchestrator.tracking.tracker import Tracker
from tests.study_builders import a_measurement, a_study, a_trial, an_evidence

pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy:DeprecationWarning",  # MLflow's own use of SQLAlchemy
)
NOBODY = "http://127.0.0.1:9"  # the discard port: nothing listens, a connection is refused at once
TIMES = TrialTimes(wall_s=9, engine_start_s=2, replay_s=4)


def _open(store: Store, *, uri: str | None = None, resume: bool = False) -> Tracker:
    return open_tracker(
        store,
        a_study(),
        study_id="demo-1",
        versions={"seatrial": "0.1.0"},
        tags={"hardware.cpu": "2 cores"},
        clock=SystemClock(),
        attachments=Attachments(
            evidence=lambda _, measurements: an_evidence(tuple(measurements)),
            plots=lambda _: {"curve.png": b"\x89PNG"},
        ),
        uri=uri,
        resume=resume,
    )


def _walk(tracker: Tracker, number: int, loads: tuple[float, ...]) -> None:
    trial = a_trial(number)
    measurements = tuple(a_measurement(load) for load in loads)
    tracker.started(trial)
    tracker.deployed(trial, {"argv": "server " + "x" * 7000})
    for one in measurements:
        tracker.measured(trial, one)
    tracker.ended(trial, Completed(measurements, 1.5), TIMES)


def _runs(client: MlflowClient) -> dict[str, Run]:
    experiment = client.get_experiment_by_name("demo-1")
    assert experiment is not None
    return {run.data.tags["seatrial.run"]: run for run in client.search_runs([experiment.experiment_id])}


def _history(client: MlflowClient, run: Run, name: str) -> list[tuple[int, float]]:
    return sorted((one.step, one.value) for one in client.get_metric_history(run.info.run_id, name))


def test_a_metrics_chart_is_the_curve_and_a_resumed_trial_keeps_its_run(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "mlruns"))
    with _open(store) as tracker:
        _walk(tracker, 0, (4.0, 1.0, 2.0))
        bad = a_trial(2)
        tracker.started(bad)
        tracker.ended(bad, Infeasible("n_parallel: seen 4, allowed at most 2"), TIMES)
        tracker.started(a_trial(1))
        tracker.measured(a_trial(1), a_measurement(1.0))
    assert tracker.notes == ()
    with _open(store, resume=True) as tracker:
        _walk(tracker, 1, (2.0,))
        tracker.finish()
    assert tracker.notes == ()
    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/mlruns/mlflow.db")
    runs = _runs(client)
    assert set(runs) == {"demo-1", a_trial(0).trial_id, a_trial(1).trial_id, a_trial(2).trial_id}
    trial = runs[a_trial(0).trial_id]
    expected = [(round(rate * 1000), a_measurement(rate).ttft_s.p90) for rate in (1.0, 2.0, 4.0)]
    assert _history(client, trial, "ttft_p90_s") == expected
    assert [step for step, _ in _history(client, runs[a_trial(1).trial_id], "goodput_rps")] == [1000, 2000]
    assert trial.data.tags["mlflow.parentRunId"] == runs["demo-1"].info.run_id
    assert {one.info.status for name, one in runs.items() if name != a_trial(2).trial_id} == {"FINISHED"}
    assert runs[a_trial(2).trial_id].info.status == "FAILED"
    memory = _history(client, trial, "telemetry/host_memory_bytes")
    assert 140 < len(memory) <= 150
    assert memory[0][0] == 0
    assert {one.path for one in client.list_artifacts(trial.info.run_id)} == {"plots", "values"}
    assert list((tmp_path / "mlruns" / "artifacts").rglob("curve.png"))


def test_a_server_that_does_not_answer_is_caught_up_with(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "mlruns"))
    with _open(store, uri=NOBODY) as tracker:
        _walk(tracker, 0, (1.0, 2.0))
        tracker.finish()
    assert "wait for the tracker" in tracker.notes[0]
    assert store.get("studies/demo-1/spool.jsonl")
    uri = f"sqlite:///{tmp_path}/elsewhere.db"
    assert catch_up(store, "demo-1", clock=SystemClock(), uri=uri) == ()
    client = MlflowClient(tracking_uri=uri)
    runs = _runs(client)
    assert len(runs) == 2
    assert [step for step, _ in _history(client, runs[a_trial(0).trial_id], "ttft_p50_s")] == [1000, 2000]
    assert runs["demo-1"].info.status == "FINISHED"
    assert "studies/demo-1/spool.jsonl" not in store.list("studies")


_DRIVER = """
import sys
from orchestrator.domain.clock import SystemClock
from orchestrator.tracking.opening import open_tracker
from orchestrator.tracking.store import open_store
from tests.study_builders import a_measurement, a_study, a_trial

tracker = open_tracker(
    open_store(sys.argv[1]), a_study(), study_id="demo-1", versions={}, tags={}, clock=SystemClock(),
    uri="http://127.0.0.1:9",
)
for number in range(1000):
    tracker.started(a_trial(number))
    for load in (1.0, 2.0, 4.0):
        tracker.measured(a_trial(number), a_measurement(load))
    print(number, flush=True)
"""


def test_a_killed_driver_loses_no_measurement_and_another_goes_on(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _DRIVER, str(tmp_path / "mlruns")]
    driver = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert driver.stdout is not None
    said = [int(driver.stdout.readline()) for _ in range(5)]
    os.kill(driver.pid, signal.SIGKILL)
    said += [int(line) for line in driver.stdout]
    driver.wait()
    driver.stdout.close()
    store = open_store(str(tmp_path / "mlruns"))
    with _open(store, uri=NOBODY, resume=True) as tracker:
        past = tracker.past
        assert len(past) >= len(said) == said[-1] + 1
        assert all(len(one.measurements) == 3 for one in past[: len(said)])
        last = past[-1]
        tracker.started(last.trial)
        for load in (1.0, 2.0, 4.0):
            tracker.measured(last.trial, a_measurement(load))
    lines = [one.model_dump_json() for one in read_journal(store, "demo-1").events]
    assert len(lines) == len(set(lines))
