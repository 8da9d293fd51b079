import json
from pathlib import Path
from uuid import uuid4

import pytest

from orchestrator.domain.errors import TrackingError
from orchestrator.domain.outcome import Completed, Infeasible
from orchestrator.tracking.events import Measured, Repaired, Times, TrialEnded, TrialStarted, ending_of, to_line
from orchestrator.tracking.journal import (
    DuplicateMeasurementError,
    Journal,
    list_studies,
    measurement_key,
    open_journal,
    read_journal,
    read_past,
)
from orchestrator.tracking.store import Store, open_store
from tests.study_builders import a_measurement, a_trial

AT = "2027-01-15T08:00:00+00:00"
TIMES = Times(wall_s=3, engine_start_s=1, replay_s=1)


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store(str(tmp_path) if request.param == "local" else f"memory://{uuid4().hex}")


@pytest.fixture
def local(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


def _path(store: Store) -> Path:
    assert store.root is not None
    return store.root / "studies/demo-1/journal.jsonl"


def _start(journal: Journal, number: int = 0) -> None:
    trial = a_trial(number)
    journal.append(TrialStarted(at=AT, trial_id=trial.trial_id, digest=trial.digest, trial=trial))


def _measured(number: int, load: float) -> Measured:
    trial, one = a_trial(number), a_measurement(load)
    key = measurement_key(trial, one)
    return Measured(at=AT, key=key, trial_id=trial.trial_id, trial_digest=trial.digest, measurement=one)


def test_what_was_written_is_read_back_in_order(store: Store) -> None:
    journal = open_journal(store, "demo-1", at=AT)
    _start(journal)
    assert journal.append(_measured(0, 1.0)) == 2
    assert read_journal(store, "demo-1").events[1] == _measured(0, 1.0)
    assert list_studies(store) == ("demo-1",)


def test_a_measurement_is_never_written_twice_not_even_after_reopening(store: Store) -> None:
    journal = open_journal(store, "demo-1", at=AT)
    journal.append(_measured(0, 1.0))
    with pytest.raises(DuplicateMeasurementError, match="holds measurement"):
        journal.append(_measured(0, 1.0))
    again = open_journal(store, "demo-1", at=AT)
    with pytest.raises(DuplicateMeasurementError):
        again.append(_measured(0, 1.0))
    assert len(read_journal(store, "demo-1").events) == 1


def test_two_trials_of_equal_configuration_are_two_results() -> None:
    first, second = a_trial(1), a_trial(1).model_copy(update={"number": 7})
    assert first.digest == second.digest
    assert measurement_key(first, a_measurement()) != measurement_key(second, a_measurement())


def test_a_torn_last_line_is_cut_off_and_said(local: Store) -> None:
    _start(open_journal(local, "demo-1", at=AT))
    line = to_line(_measured(0, 1.0))
    with _path(local).open("ab") as file:
        file.write(line[: len(line) // 2])
    assert read_journal(local, "demo-1").torn is not None, "reading alone must not repair"
    repaired = open_journal(local, "demo-1", at=AT).past
    assert isinstance(repaired.events[-1], Repaired)
    assert repaired.events[-1].cut == line[: len(line) // 2].decode()
    open_journal(local, "demo-1", at=AT).append(_measured(0, 1.0))
    kinds = [json.loads(one)["event"] for one in _path(local).read_bytes().splitlines()]
    assert kinds == ["trial_started", "repaired", "measured"]


def test_a_last_line_that_lacks_only_its_newline_is_kept(local: Store) -> None:
    _start(open_journal(local, "demo-1", at=AT))
    with _path(local).open("ab") as file:
        file.write(to_line(_measured(0, 1.0)))
    journal = open_journal(local, "demo-1", at=AT)
    assert journal.past.events[-1] == _measured(0, 1.0)
    assert journal.holds(_measured(0, 1.0).key)
    assert read_journal(local, "demo-1").torn is None


def test_a_bad_line_in_the_middle_is_an_error_with_its_number(local: Store) -> None:
    journal = open_journal(local, "demo-1", at=AT)
    _start(journal)
    with _path(local).open("ab") as file:
        file.write(b'{"event": "measured", "key"\n')
    _start(journal, 1)
    with pytest.raises(TrackingError, match="line 2"):
        open_journal(local, "demo-1", at=AT)
    assert len(_path(local).read_bytes().splitlines()) == 3, "a damaged journal is left as it is"


def test_a_line_that_could_not_be_written_whole_leaves_no_half(local: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = open_journal(local, "demo-1", at=AT)
    _start(journal)
    before = _path(local).read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(TrackingError, match="No space left"):
            journal.append(_measured(0, 1.0))
    assert _path(local).read_bytes() == before
    journal.append(_measured(0, 1.0))


def test_the_past_holds_ended_and_unfinished_trials(store: Store) -> None:
    journal = open_journal(store, "demo-1", at=AT)
    for number in range(3):
        _start(journal, number)
    journal.append(_measured(0, 1.0))
    journal.append(_measured(1, 1.0))
    journal.append(_measured(1, 2.0))
    done = Completed((a_measurement(1.0),), 0.9)
    journal.append(TrialEnded(at=AT, trial_id=a_trial(0).trial_id, ending=ending_of(done), times=TIMES))
    bad = Infeasible("does not fit")
    journal.append(TrialEnded(at=AT, trial_id=a_trial(2).trial_id, ending=ending_of(bad), times=TIMES))
    first, second, third = read_past(read_journal(store, "demo-1").events)
    assert first.outcome == done
    assert (second.outcome, [one.step for one in second.measurements]) == (None, [1000, 2000])
    assert third.outcome == bad
    assert second.trial == a_trial(1)


def test_an_unknown_study_lists_the_known_ones(store: Store) -> None:
    _start(open_journal(store, "demo-1", at=AT))
    with pytest.raises(TrackingError, match="known: demo-1"):
        read_journal(store, "other")
