"""Calls back at absolute nanoseconds of CLOCK_MONOTONIC, never early, late by about a tenth of a millisecond.

asyncio rounds its timers to whole milliseconds; on Linux a timerfd in the event loop does not, and needs no spinning.
"""

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

NS_PER_S = 1_000_000_000
CLOCK_MONOTONIC = 1
TFD_TIMER_ABSTIME = 1


class Alarm(Protocol):
    """Rings once at the time it was last set to."""

    def set(self, due_ns: int) -> None:
        """Ring at `due_ns` instead of any earlier setting."""
        ...

    def close(self) -> None:
        """Ring no more."""
        ...


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class KernelAlarm:
    """A Linux timerfd: exact to the kernel's wake-up latency."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        self._loop = loop
        self._ring = ring
        loop.add_reader(self._fd, self._on_readable)

    def _on_readable(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # set again between its ringing and this call
            return
        self._ring()

    def set(self, due_ns: int) -> None:
        """Ring at `due_ns`; a time in the past rings at once."""
        spec = _Itimerspec(_Timespec(0, 0), _Timespec(*divmod(max(due_ns, 1), NS_PER_S)))
        self._libc.timerfd_settime(self._fd, TFD_TIMER_ABSTIME, ctypes.byref(spec), None)

    def close(self) -> None:
        """Leave the loop and close the descriptor."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)


class LoopAlarm:
    """The event loop's own timer, set a rounding step early and polled for the rest: for systems without timerfd."""

    ROUNDING_NS = 1_000_000

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._due_ns = 0
        self._handle: asyncio.Handle | None = None

    def set(self, due_ns: int) -> None:
        """Ring at `due_ns`; a time in the past rings in the loop's next turn."""
        self.close()
        self._due_ns = due_ns
        wait_ns = due_ns - time.monotonic_ns() - self.ROUNDING_NS
        self._handle = self._loop.call_later(max(0, wait_ns) / NS_PER_S, self._poll)

    def _poll(self) -> None:
        if time.monotonic_ns() < self._due_ns:
            self._handle = self._loop.call_soon(self._poll)
        else:
            self._ring()

    def close(self) -> None:
        """Cancel the pending call."""
        if self._handle is not None:
            self._handle.cancel()


def system_alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> Alarm:
    """Return the most exact alarm that this system has."""
    return KernelAlarm(loop, ring) if sys.platform == "linux" else LoopAlarm(loop, ring)


class Entry:
    """One pending call; cancelling is idempotent."""

    __slots__ = ("call", "due_ns")

    def __init__(self, due_ns: int, call: Callable[[], None]) -> None:
        self.due_ns = due_ns
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Forget the call."""
        self.call = None


class DueQueue:
    """Pending calls in order of their due time, over one alarm."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        make_alarm: Callable[[asyncio.AbstractEventLoop, Callable[[], None]], Alarm] = system_alarm,
    ) -> None:
        self._heap: list[tuple[int, int, Entry]] = []
        self._order = count()
        self._alarm = make_alarm(loop, self._run_due)

    def call_at(self, due_ns: int, call: Callable[[], None]) -> Entry:
        """Call once `due_ns` has passed; equal times are called in the order they were asked for."""
        entry = Entry(due_ns, call)
        item = (due_ns, next(self._order), entry)
        heappush(self._heap, item)
        if self._heap[0] is item:
            self._alarm.set(due_ns)
        return entry

    def _run_due(self) -> None:
        try:
            while self._heap and (self._heap[0][2].call is None or self._heap[0][0] <= time.monotonic_ns()):
                call = heappop(self._heap)[2].call
                if call is not None:
                    call()
        finally:  # a call that raises must not silence the others
            if self._heap:
                self._alarm.set(self._heap[0][0])

    def close(self) -> None:
        """Drop every pending call."""
        self._heap.clear()
        self._alarm.close()
