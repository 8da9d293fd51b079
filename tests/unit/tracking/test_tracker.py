import threading
from pathlib import Path

import pytest
import yaml

from orchestrator.domain.errors import InputError
from orchestrator.domain.outcome import Completed
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.study import Budget, StudySpec
from orchestrator.tracking import opening
from orchestrator.tracking.opening import open_tracker, tracking_uri
from orchestrator.tracking.operations import EndRun, LogFile, OpenRun, Operation
from orchestrator.tracking.projection import Attachments
from orchestrator.tracking.spool import UnreachableError
from orchestrator.tracking.store import Store, open_store
from orchestrator.tracking.study import read_study
from orchestrator.tracking.tracker import Tracker
from tests.study_builders import FixedClock, a_measurement, a_study, a_trial

TIMES = TrialTimes(wall_s=9, engine_start_s=2, replay_s=4)


class RecordingSink:
    """Keeps every operation; can be taken down."""

    def __init__(self) -> None:
        self.is_up = True
        self.taken: list[Operation] = []

    def apply(self, operation: Operation) -> None:
        if not self.is_up:
            raise UnreachableError("no answer")
        self.taken.append(operation)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "mlruns"))


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> RecordingSink:
    sink = RecordingSink()
    monkeypatch.setattr(opening, "connect", lambda _store, _uri: sink)
    return sink


def _open(store: Store, study: StudySpec | None = None, *, resume: bool = False, folder: Path | None = None) -> Tracker:
    return open_tracker(
        store,
        study or a_study(),
        study_id="demo-1",
        versions={"seatrial": "0.1.0"},
        tags={"hf_token": "sk-123", "hardware.cpu": "2 cores"},
        clock=FixedClock(),
        attachments=Attachments(folder=folder, plots=lambda _: {"curve.png": b"png"}),
        resume=resume,
    )


def _run_trial(tracker: Tracker, number: int = 0) -> None:
    trial, one = a_trial(number), a_measurement()
    tracker.started(trial)
    tracker.deployed(trial, {"argv": "server --api-key sk-123"})
    tracker.measured(trial, one)
    tracker.ended(trial, Completed((one,), 1.5), TIMES)


def test_a_study_is_told_to_the_tracker_in_order_with_its_files(
    store: Store, sink: RecordingSink, tmp_path: Path
) -> None:
    name = a_trial(0).trial_id
    (tmp_path / "scratch" / name).mkdir(parents=True)
    (tmp_path / "scratch" / name / "engine.log").write_text("log")
    with _open(store, folder=tmp_path / "scratch") as tracker:
        _run_trial(tracker)
        tracker.finish()
    assert tracker.notes == ()
    assert [one.run for one in sink.taken if isinstance(one, OpenRun)] == ["demo-1", name]
    assert [one.path for one in sink.taken if isinstance(one, LogFile)] == ["engine.log", "plots/curve.png"]
    assert [one.run for one in sink.taken if isinstance(one, EndRun)] == [name, "demo-1"]
    assert store.get(f"studies/demo-1/trials/{name}/engine.log") == b"log"


@pytest.mark.parametrize(("reason", "expected"), [("finished", ["traffic/fano.png"]), ("interrupted", [])])
def test_pictures_of_the_traffic_hang_on_the_studys_run_when_nothing_is_measured_any_more(
    store: Store, sink: RecordingSink, reason: str, expected: list[str]
) -> None:
    tracker = open_tracker(
        store,
        a_study(),
        study_id="demo-1",
        versions={},
        tags={},
        clock=FixedClock(),
        attachments=Attachments(traffic=lambda: {"fano.png": b"png"}),
    )
    with tracker:
        _run_trial(tracker)
        tracker.finish(reason)
    assert tracker.notes == ()
    told = [one for one in sink.taken if isinstance(one, LogFile | EndRun) and one.run == "demo-1"]
    assert [one.path for one in told if isinstance(one, LogFile)] == expected
    assert isinstance(told[-1], EndRun)
    assert [one.path for one in sink.taken if isinstance(one, LogFile) and one.run != "demo-1"] == []


def test_no_secret_reaches_the_store(store: Store, sink: RecordingSink) -> None:
    study = a_study(engines=({"name": "llamacpp", "config": {"api_key": "sk-123"}},))
    with _open(store, study) as tracker:
        _run_trial(tracker)
    assert store.root is not None
    files = [path for path in store.root.rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert not [path for path in files if b"sk-123" in path.read_bytes()]
    assert "sk-123" not in str(sink.taken)
    assert StudySpec.model_validate(yaml.safe_load(store.get("studies/demo-1/study.yaml"))).name == "demo"


def test_resuming_continues_and_tells_only_what_is_new(store: Store, sink: RecordingSink) -> None:
    with _open(store) as tracker:
        _run_trial(tracker)
        trial = a_trial(1)
        tracker.started(trial)
        tracker.measured(trial, a_measurement(1.0))
    before = len(sink.taken)
    with _open(store, a_study(budget=Budget(trials=9)), resume=True) as tracker:
        ended, unfinished = tracker.past
        assert ended.outcome == Completed((a_measurement(),), 1.5)
        assert unfinished.outcome is None
        tracker.started(trial)
        tracker.measured(trial, a_measurement(2.0))
        tracker.ended(trial, Completed((), 1.0), TIMES)
        tracker.finish()
    again = {one.run for one in sink.taken[before:] if isinstance(one, OpenRun)}
    assert again == {"demo-1"}, "an unfinished trial keeps its run, an ended one is not opened again"
    record = read_study(store, "demo-1")
    assert not record.is_partial
    assert [len(one.measurements) for one in record.trials] == [1, 2]
    assert len(store.get("studies/demo-1/journal.jsonl").splitlines()) == len(
        set(store.get("studies/demo-1/journal.jsonl").splitlines())
    )


def test_what_a_killed_driver_left_untold_is_told_by_the_next(store: Store, sink: RecordingSink) -> None:
    with _open(store) as tracker:
        _run_trial(tracker)
    taken = len(sink.taken)
    store.put("studies/demo-1/told", b"1")  # as if the kill had come before the tracker heard of the trial
    with _open(store, resume=True):
        pass
    told_again = [one for one in sink.taken[taken:] if one.run == a_trial(0).trial_id]
    assert [one for one in sink.taken[:taken] if one.run == a_trial(0).trial_id] == told_again


def test_a_tracker_that_is_down_costs_nothing_but_a_spool(store: Store, sink: RecordingSink) -> None:
    sink.is_up = False
    with _open(store) as tracker:
        _run_trial(tracker)
        tracker.finish()
    assert "wait for the tracker" in tracker.notes[0]
    assert len(read_study(store, "demo-1").trials) == 1
    sink.is_up = True
    assert opening.catch_up(store, "demo-1", clock=FixedClock()) == ()
    runs = [one.run for one in sink.taken if isinstance(one, OpenRun)]
    assert runs == ["demo-1", a_trial(0).trial_id]


def test_a_second_try_of_a_load_keeps_the_first_figure_and_says_so(store: Store, sink: RecordingSink) -> None:
    with _open(store) as tracker:
        trial = a_trial(0)
        tracker.started(trial)
        tracker.measured(trial, a_measurement())
        tracker.measured(trial, a_measurement(requests_per_s=99.0))
    (only,) = read_study(store, "demo-1").trials[0].measurements
    assert only == a_measurement()
    assert "measured again" in tracker.notes[0]
    assert sink.taken


def test_the_driver_never_waits_for_the_tracker(store: Store, sink: RecordingSink) -> None:
    answers, apply = threading.Event(), sink.apply

    def slow(operation: Operation) -> None:
        if isinstance(operation, OpenRun) and operation.parent is not None:
            assert answers.wait(30), "the driver waited for the tracker"
        apply(operation)

    sink.apply = slow  # type: ignore[method-assign]
    with _open(store) as tracker:
        _run_trial(tracker)
        tracker.finish()
        assert not [one for one in sink.taken if one.run == a_trial(0).trial_id]
        answers.set()
    assert [one for one in sink.taken if one.run == a_trial(0).trial_id]


def test_a_line_that_could_not_be_told_is_told_by_the_next_driver(store: Store, sink: RecordingSink) -> None:
    def broken(_: object) -> dict[str, bytes]:
        raise ValueError("no fonts")

    tracker = open_tracker(
        store,
        a_study(),
        study_id="demo-1",
        versions={},
        tags={},
        clock=FixedClock(),
        attachments=Attachments(plots=broken),
    )
    with tracker:
        _run_trial(tracker)
        tracker.finish()
    assert "no fonts" in tracker.notes[0]
    assert a_trial(0).trial_id not in {one.run for one in sink.taken if isinstance(one, EndRun)}
    with _open(store, resume=True):
        pass
    assert a_trial(0).trial_id in {one.run for one in sink.taken if isinstance(one, EndRun)}


@pytest.mark.usefixtures("sink")
def test_a_study_is_not_begun_twice_nor_resumed_as_another(store: Store) -> None:
    with pytest.raises(InputError, match="without --resume"):
        _open(store, resume=True)
    with _open(store):
        pass
    with pytest.raises(InputError, match="--resume"):
        _open(store)
    with pytest.raises(InputError, match="only the budget may"):
        _open(store, a_study(seed=7), resume=True)


@pytest.mark.usefixtures("sink")
def test_a_study_that_was_not_finished_is_partial(store: Store) -> None:
    with _open(store) as tracker:
        _run_trial(tracker)
        tracker.finish("interrupted")
    assert read_study(store, "demo-1").is_partial


def test_the_tracker_is_the_one_asked_for_else_a_database_in_a_local_store(store: Store) -> None:
    environ = {"MLFLOW_TRACKING_URI": "http://127.0.0.1:5000"}
    assert tracking_uri(store, "http://other", environ=environ) == "http://other"
    assert tracking_uri(store, environ=environ) == "http://127.0.0.1:5000"
    assert tracking_uri(store, environ={}) == f"sqlite:///{store.root}/mlflow.db"
    assert tracking_uri(open_store("memory://elsewhere"), environ={}) is None
