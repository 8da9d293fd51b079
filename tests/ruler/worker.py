"""A load worker with a fault: `python -m tests.ruler.worker LATE_S CLOCK_MS FD` starts late or tells a wrong time."""

import socket
import sys
import time

from orchestrator.domain.clock import SystemClock
from orchestrator.replay.workers.worker import die_with_parent, serve

NS_PER_MS = 1_000_000


class ShiftedClock:
    """A clock that is ahead of the machine's by a span."""

    def __init__(self, ahead_ns: int) -> None:
        self._ahead_ns = ahead_ns
        self._clock = SystemClock()

    def now_ns(self) -> int:
        return self._clock.now_ns() + self._ahead_ns

    def wall_s(self) -> float:
        return self._clock.wall_s()


if __name__ == "__main__":
    late_s, clock_ms, descriptor = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    die_with_parent()
    with socket.socket(fileno=descriptor) as sock:
        serve(sock, ShiftedClock(round(clock_ms * NS_PER_MS)), before_replay=lambda: time.sleep(late_s))
