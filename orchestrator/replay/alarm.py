"""Wakes an event loop at an absolute time, finer than the millisecond that event loops offer.

On Linux by a timerfd, elsewhere by the loop's own timer and then by turning the loop over until the time has come.
"""

import asyncio
import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from typing import Protocol

from orchestrator.domain.clock import NS_PER_S

CLOCK_MONOTONIC = 1
LOOP_TIMER_NS = 1_000_000


class Alarm(Protocol):
    """One timer of one event loop: setting it again replaces what was set."""

    def set(self, delay_ns: int) -> None:
        """Ring once, `delay_ns` from now; at the loop's next turn where that is not positive."""
        ...

    def close(self) -> None:
        """Never ring again."""
        ...


class _TimerSpec(ctypes.Structure):
    """`struct itimerspec`: no interval, one expiry (timerfd_settime(2))."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class TimerfdAlarm:
    """A Linux timerfd: rings some tens of microseconds late and burns no CPU while it waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        self._loop = loop
        self._ring = ring
        loop.add_reader(self._fd, self._expired)

    def set(self, delay_ns: int) -> None:
        """Ring once, `delay_ns` from now; at the loop's next turn where that is not positive."""
        seconds, nanoseconds = divmod(max(delay_ns, 1), NS_PER_S)
        spec = _TimerSpec(0, 0, seconds, nanoseconds)
        if self._libc.timerfd_settime(self._fd, 0, ctypes.byref(spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")

    def close(self) -> None:
        """Never ring again."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _expired(self) -> None:
        with contextlib.suppress(BlockingIOError):  # set again between its expiry and this turn of the loop
            os.read(self._fd, 8)
            self._ring()


class LoopAlarm:
    """The loop's own timer, set one millisecond early; then the loop turns, reading sockets, until it is time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._due_s = 0.0
        self._handle: asyncio.Handle | None = None

    def set(self, delay_ns: int) -> None:
        """Ring once, `delay_ns` from now; at the loop's next turn where that is not positive."""
        self.close()
        self._due_s = self._loop.time() + delay_ns / NS_PER_S
        self._handle = self._loop.call_later(max(0, delay_ns - LOOP_TIMER_NS) / NS_PER_S, self._turn)

    def close(self) -> None:
        """Never ring again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _turn(self) -> None:
        if self._loop.time() < self._due_s:
            self._handle = self._loop.call_soon(self._turn)
        else:
            self._handle = None
            self._ring()


def open_alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> Alarm:
    """Return the finest alarm that this machine has."""
    return TimerfdAlarm(loop, ring) if sys.platform == "linux" else LoopAlarm(loop, ring)
