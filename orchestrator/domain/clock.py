"""The one monotonic clock, injected wherever time is read."""

import datetime
import time
from typing import Protocol

NS_PER_S = 1_000_000_000


class Clock(Protocol):
    """Reads time; the measured path uses `now_ns` only."""

    def now_ns(self) -> int:
        """Return nanoseconds of a clock that never jumps, comparable between processes of one machine."""
        ...

    def wall_s(self) -> float:
        """Return seconds since the Unix epoch, for records that people read."""
        ...


class SystemClock:
    """The machine's own clocks: CLOCK_MONOTONIC and CLOCK_REALTIME."""

    def now_ns(self) -> int:
        """Return nanoseconds of CLOCK_MONOTONIC."""
        return time.monotonic_ns()

    def wall_s(self) -> float:
        """Return seconds since the Unix epoch."""
        return time.time()


def utc_now(clock: Clock) -> str:
    """Return the wall time as ISO 8601 in UTC."""
    return datetime.datetime.fromtimestamp(clock.wall_s(), datetime.UTC).isoformat()
