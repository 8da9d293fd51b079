"""Keeps an event loop from sleeping, on a core that it has to itself, so that nothing waits for the core to wake.

Knows how much of its time nothing was to do: the thread's CPU time alone would say that it is always busy.
"""

import asyncio
from collections.abc import Callable

LONGEST_TURN_NS = 100_000  # an idle turn takes some microseconds; a longer one was interrupted, and burnt no CPU then


class Vigil:
    """Turns the loop over and over; turns in which `activity` did not change are idle time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], int], activity: Callable[[], int]) -> None:
        self.idle_ns = 0
        self._loop = loop
        self._now = now
        self._activity = activity
        self._seen = activity()
        self._last_ns = now()
        self._handle = loop.call_soon(self._turn)

    def close(self) -> None:
        """Let the loop sleep."""
        self._handle.cancel()

    def _turn(self) -> None:
        now_ns, seen = self._now(), self._activity()
        spent_ns = now_ns - self._last_ns
        if seen == self._seen and spent_ns < LONGEST_TURN_NS:
            self.idle_ns += spent_ns
        self._seen, self._last_ns = seen, now_ns
        self._handle = self._loop.call_soon(self._turn)
