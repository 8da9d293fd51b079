"""The replay's own pulse: every 10 ms it samples how late the loop runs, times requests out and ends phases."""

import asyncio
import time
from array import array
from collections.abc import Callable

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.records import Window
from orchestrator.replay.alarm import open_alarm

TICK_NS = 10_000_000


class Watch:
    """Ticks on absolute times; a loop that was blocked for long leaves one lag for each tick that it missed.

    `loop_lag_ns` is sampled from the window's start on; `cpu_ratio` is the calling thread's CPU time in the window
    over its length, less what `idle_ns` says was spent on waiting; None before the window has ended.
    """

    def __init__(
        self,
        now: Callable[[], int],
        window: Window,
        on_tick: Callable[[int], None],
        *,
        idle_ns: Callable[[], int] = lambda: 0,
    ) -> None:
        self.loop_lag_ns: array[int] = array("q")
        self.cpu_ratio: float | None = None
        self._now = now
        self._window = window
        self._on_tick = on_tick
        self._idle_ns = idle_ns
        self._due_ns = now() + TICK_NS
        self._cpu_began: tuple[int, int] | None = None
        self._waiter: tuple[Callable[[int], bool], asyncio.Future[None]] | None = None
        self._alarm = open_alarm(asyncio.get_running_loop(), self._tick)
        self._alarm.set(TICK_NS)

    async def until(self, is_over: Callable[[int], bool]) -> None:
        """Return at the first tick at which `is_over(now_ns)` holds."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiter = (is_over, future)
        await future

    def end_window(self, now_ns: int) -> None:
        """Know that the window has ended, at its own end or earlier; one that no two ticks saw has no CPU time."""
        if self._cpu_began is not None and self.cpu_ratio is None and now_ns > self._cpu_began[0]:
            began_ns, busy_ns = self._cpu_began
            self.cpu_ratio = max(0.0, (self._busy_ns() - busy_ns) / (now_ns - began_ns))

    def _busy_ns(self) -> int:
        return time.thread_time_ns() - self._idle_ns()

    def close(self) -> None:
        """Tick no more."""
        self._alarm.close()

    def _tick(self) -> None:
        now_ns = self._now()
        if self._cpu_began is None and now_ns >= self._window.start_ns:
            self._cpu_began = (now_ns, self._busy_ns())
        while self._due_ns <= now_ns:
            if now_ns >= self._window.start_ns:
                self.loop_lag_ns.append(now_ns - self._due_ns)
            self._due_ns += TICK_NS
        if now_ns >= self._window.end_ns:
            self.end_window(now_ns)
        self._on_tick(now_ns)
        if self._waiter is not None and not self._waiter[1].done() and self._waiter[0](now_ns):
            self._waiter[1].set_result(None)
        self._alarm.set(self._due_ns - self._now())


def ns(seconds: float) -> int:
    """Return a span in whole nanoseconds."""
    return round(seconds * NS_PER_S)
