from pathlib import Path

import pytest

from orchestrator.tracking.operations import Operation, SetTags
from orchestrator.tracking.spool import RefusedError, Spool, UnreachableError
from orchestrator.tracking.store import Store, open_store
from tests.study_builders import FixedClock


class ScriptedSink:
    """Takes operations while it is up; refuses those of the run `bad`."""

    def __init__(self) -> None:
        self.is_up = True
        self.taken: list[str] = []

    def apply(self, operation: Operation) -> None:
        if not self.is_up:
            raise UnreachableError("no answer")
        if operation.run == "bad":
            raise RefusedError("never")
        self.taken.append(operation.run)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


def _spool(store: Store, sink: ScriptedSink, clock: FixedClock) -> Spool:
    return Spool(store, "demo-1", connect=lambda: sink, clock=clock)


def _tag(run: str) -> Operation:
    return SetTags(run=run, tags={})


def test_nothing_is_spooled_while_the_tracker_answers(store: Store) -> None:
    sink = ScriptedSink()
    _spool(store, sink, FixedClock()).deliver(_tag("a"))
    assert sink.taken == ["a"]
    assert store.list("studies") == ()


def test_an_outage_keeps_the_order_and_repeats_nothing(store: Store) -> None:
    sink, clock = ScriptedSink(), FixedClock()
    spool = _spool(store, sink, clock)
    spool.deliver(_tag("a"))
    sink.is_up = False
    for name in "bcd":
        spool.deliver(_tag(name))
    assert (spool.num_waiting, sink.taken) == (3, ["a"])
    sink.is_up = True
    clock.time_s += 60
    spool.deliver(_tag("e"))
    assert sink.taken == ["a", "b", "c", "d", "e"]
    assert store.list("studies") == ()


def test_a_dead_tracker_is_not_asked_for_every_operation(store: Store) -> None:
    sink, clock, asked = ScriptedSink(), FixedClock(), []

    class Counting(ScriptedSink):
        def apply(self, operation: Operation) -> None:
            asked.append(operation.run)
            raise UnreachableError("no answer")

    sink = Counting()
    spool = _spool(store, sink, clock)
    for name in "abcdef":
        spool.deliver(_tag(name))
    assert asked == ["a"]
    assert spool.num_waiting == 6


def test_another_driver_continues_where_the_outage_began(store: Store) -> None:
    sink, clock = ScriptedSink(), FixedClock()
    sink.is_up = False
    first = _spool(store, sink, clock)
    for name in "abc":
        first.deliver(_tag(name))
    sink.is_up = True
    assert _spool(store, sink, clock).catch_up() == 0
    assert sink.taken == ["a", "b", "c"]
    assert _spool(store, sink, clock).catch_up() == 0
    assert sink.taken == ["a", "b", "c"]


def test_an_outage_in_the_middle_of_catching_up_resumes_there(store: Store) -> None:
    clock = FixedClock()

    class Flaky(ScriptedSink):
        def apply(self, operation: Operation) -> None:
            super().apply(operation)
            self.is_up = len(self.taken) != 2

    sink = Flaky()
    sink.is_up = False
    spool = _spool(store, sink, clock)
    for name in "abcd":
        spool.deliver(_tag(name))
    sink.is_up = True
    assert spool.catch_up() == 2
    sink.is_up = True
    assert _spool(store, sink, clock).catch_up() == 0
    assert sink.taken == ["a", "b", "c", "d"]


def test_what_is_refused_for_ever_is_set_aside_and_said(store: Store) -> None:
    sink, clock = ScriptedSink(), FixedClock()
    spool = _spool(store, sink, clock)
    for name in ("a", "bad", "c"):
        spool.deliver(_tag(name))
    assert sink.taken == ["a", "c"]
    assert (spool.num_refused, spool.last_error) == (1, "never")
    assert b'"run":"bad"' in store.get("studies/demo-1/refused.jsonl")
