import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from orchestrator.domain.errors import TrackingError
from orchestrator.tracking.lease import Lease
from orchestrator.tracking.owner import Owner, is_dead, this_owner
from orchestrator.tracking.store import Store, open_store
from tests.study_builders import FixedClock


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store(str(tmp_path) if request.param == "local" else f"memory://{uuid4().hex}")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


def _lease(store: Store, clock: FixedClock, owner: Owner | None = None) -> Lease:
    return Lease(store, "demo-1", owner=owner or this_owner(), clock=clock)


def _elsewhere(job: str = "raysubmit_1") -> Owner:
    return Owner(pid=4711, process_start="1", host="node7", place="node7/boot/pid", job=job)


def test_a_living_driver_is_named_and_keeps_its_study(store: Store, clock: FixedClock) -> None:
    with _lease(store, clock):
        clock.time_s += 3600  # suspended, not dead
        with pytest.raises(TrackingError, match=f"held by process {this_owner().pid} on"):
            _lease(store, clock).take()


def test_a_study_that_was_given_back_is_free(store: Store, clock: FixedClock) -> None:
    with _lease(store, clock), pytest.raises(TrackingError, match="held by"):
        _lease(store, clock).take()
    _lease(store, clock, _elsewhere()).take()
    with pytest.raises(TrackingError, match="node7"):
        _lease(store, clock).take()


def test_a_dead_process_of_this_machine_is_followed_at_once(store: Store, clock: FixedClock) -> None:
    code = "from orchestrator.tracking.owner import this_owner; print(this_owner().model_dump_json())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    dead = Owner.model_validate_json(done.stdout)
    assert is_dead(dead) is True
    _lease(store, clock, dead).take()
    with _lease(store, clock):
        pass


def test_a_reused_process_number_does_not_look_alive() -> None:
    assert is_dead(this_owner()) is False
    assert is_dead(this_owner().model_copy(update={"process_start": "0"})) is True


def test_a_driver_elsewhere_counts_as_gone_only_after_its_time(store: Store, clock: FixedClock) -> None:
    there = _lease(store, clock, _elsewhere())
    there.take()
    clock.time_s += 59
    with pytest.raises(TrackingError, match="job raysubmit_1"):
        _lease(store, clock).take()
    there.renew()
    clock.time_s += 59
    with pytest.raises(TrackingError):
        _lease(store, clock).take()
    clock.time_s += 2
    with _lease(store, clock):
        there.renew()
        with pytest.raises(TrackingError, match="taken over"):
            there.check()


def test_of_two_takers_one_wins(store: Store, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _lease(store, clock)
    seen = slow._standing()
    with _lease(store, clock):
        monkeypatch.setattr(slow, "_standing", lambda: seen)
        with pytest.raises(TrackingError, match="at this moment"):
            slow.take()
