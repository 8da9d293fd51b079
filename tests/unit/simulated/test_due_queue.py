"""Calls come in order of their due time, never early, on either alarm."""

import asyncio
import sys
import time
from collections.abc import Callable

import pytest

from adapters.simulated.due import Alarm, DueQueue, KernelAlarm, LoopAlarm

MakeAlarm = Callable[[asyncio.AbstractEventLoop, Callable[[], None]], Alarm]
needs_timerfd = pytest.mark.skipif(sys.platform != "linux", reason="timerfd is Linux's")
both_alarms = pytest.mark.parametrize("make_alarm", [pytest.param(KernelAlarm, marks=needs_timerfd), LoopAlarm])


class HandAlarm:
    """Rings when the test says so."""

    def __init__(self, _loop: asyncio.AbstractEventLoop | None, ring: Callable[[], None]) -> None:
        self.ring = ring
        self.due_ns: int | None = None

    def set(self, due_ns: int) -> None:
        self.due_ns = due_ns

    def close(self) -> None:
        self.due_ns = None


async def _collect(make_alarm: MakeAlarm, offsets_ns: list[int]) -> list[tuple[int, int]]:
    loop = asyncio.get_running_loop()
    queue = DueQueue(loop, make_alarm)
    start_ns = time.monotonic_ns()
    called: list[tuple[int, int]] = []
    done = loop.create_future()

    def call(offset_ns: int) -> None:
        called.append((offset_ns, time.monotonic_ns() - start_ns))
        if len(called) == len(offsets_ns):
            done.set_result(None)

    for offset_ns in offsets_ns:
        queue.call_at(start_ns + offset_ns, lambda offset_ns=offset_ns: call(offset_ns))
    await asyncio.wait_for(done, 5)
    queue.close()
    return called


@both_alarms
def test_calls_come_in_order_and_never_early(make_alarm: MakeAlarm) -> None:
    offsets_ns = [9_000_000, 1_500_000, 4_200_000, -5, 1_500_000, 20_000_000]
    called = asyncio.run(_collect(make_alarm, offsets_ns))
    assert [offset_ns for offset_ns, _ in called] == sorted(offsets_ns)
    assert all(0 <= at_ns - offset_ns < 500_000_000 for offset_ns, at_ns in called)


def _by_hand() -> tuple[DueQueue, HandAlarm]:
    alarms: list[HandAlarm] = []

    def make(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> HandAlarm:
        alarms.append(HandAlarm(loop, ring))
        return alarms[-1]

    queue = DueQueue(None, make)
    return queue, alarms[0]


def test_alarm_is_set_to_the_earliest() -> None:
    queue, alarm = _by_hand()
    far_ns = time.monotonic_ns() + 10**12
    queue.call_at(far_ns + 2, lambda: None)
    queue.call_at(far_ns, lambda: None)
    queue.call_at(far_ns + 1, lambda: None)
    assert alarm.due_ns == far_ns


def test_cancelled_call_is_skipped_and_the_alarm_moves_on() -> None:
    queue, alarm = _by_hand()
    called = []
    far_ns = time.monotonic_ns() + 10**12
    queue.call_at(1, lambda: called.append("cancelled")).cancel()
    queue.call_at(2, lambda: called.append("kept"))
    queue.call_at(far_ns, lambda: called.append("far"))
    alarm.ring()
    assert called == ["kept"]
    assert alarm.due_ns == far_ns


def test_early_ring_calls_nothing() -> None:
    queue, alarm = _by_hand()
    called = []
    far_ns = time.monotonic_ns() + 10**12
    queue.call_at(far_ns, lambda: called.append("far"))
    alarm.due_ns = None
    alarm.ring()
    assert called == []
    assert alarm.due_ns == far_ns


def test_call_that_raises_does_not_silence_the_others() -> None:
    queue, alarm = _by_hand()
    called = []
    queue.call_at(1, lambda: 1 / 0)
    queue.call_at(2, lambda: called.append("second"))
    with pytest.raises(ZeroDivisionError):
        alarm.ring()
    assert alarm.due_ns == 2
    alarm.ring()
    assert called == ["second"]
