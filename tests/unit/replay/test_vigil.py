from collections.abc import Callable

import pytest
from pydantic import ValidationError

from orchestrator.domain.study import DeploySpec
from orchestrator.replay.vigil import LONGEST_TURN_NS, Vigil


class Handle:
    was_cancelled = False

    def cancel(self) -> None:
        self.was_cancelled = True


class Turned:
    """A loop that is turned by hand, its clock and what was done in it."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.acts = 0
        self.handle = Handle()
        self.next: Callable[[], None] = lambda: None

    def call_soon(self, callback: Callable[[], None]) -> Handle:
        self.next = callback
        return self.handle

    def turn(self, spent_ns: int, *, acts: int = 0) -> None:
        self.now_ns += spent_ns
        self.acts += acts
        self.next()


def test_turns_without_an_act_are_idle_and_the_loop_is_kept_turning() -> None:
    loop = Turned()
    vigil = Vigil(loop, lambda: loop.now_ns, lambda: loop.acts)  # type: ignore[arg-type]
    loop.turn(5_000)
    loop.turn(9_000, acts=1)
    loop.turn(6_000)
    assert vigil.idle_ns == 11_000
    vigil.close()
    assert loop.handle.was_cancelled


def test_a_turn_that_was_interrupted_is_not_called_idle() -> None:
    loop = Turned()
    vigil = Vigil(loop, lambda: loop.now_ns, lambda: loop.acts)  # type: ignore[arg-type]
    loop.turn(LONGEST_TURN_NS)
    assert vigil.idle_ns == 0


def test_only_cores_of_its_own_are_burnt() -> None:
    assert DeploySpec(client_cpus=(0,), engine_cpus=(1,), client_stays_awake=True).client_stays_awake
    for fields in ({}, {"client_cpus": (0,)}, {"client_cpus": (0,), "engine_cpus": (0, 1)}):
        with pytest.raises(ValidationError, match="none in both"):
            DeploySpec(client_stays_awake=True, **fields)


def test_a_study_that_does_not_say_so_keeps_its_digest() -> None:
    assert not {"client_stays_awake", "client_workers", "load_nodes"} & DeploySpec().model_dump().keys()
