"""Faults of the client itself: a processor, an interpreter, a clock or a pool that is not its own."""

import asyncio
import functools
import gc
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from orchestrator.domain.fidelity import Fidelity
from orchestrator.metrics.fidelity import judge
from orchestrator.replay import alarm as alarms
from orchestrator.replay.client import Client
from orchestrator.replay.exchange import Exchange
from tests.command_line import ROOT
from tests.ruler.loads import NS_PER_S, RATE_RPS, offered
from tests.ruler.throttle import held_to_a_tenth

BUSY_RATE_RPS = 400
POOL = 10
COARSE_S = 0.015
HEAP_OBJECTS = 200_000
COLLECT_EVERY_S = 0.1


def client_on_a_tenth_of_a_core(port: int, folder: Path) -> Fidelity:
    del folder
    argv = [sys.executable, "-m", "tests.ruler.client", str(port), str(BUSY_RATE_RPS)]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        with held_to_a_tenth(process.pid):
            process.stdin.write(b"go\n")
            process.stdin.flush()
            process.stdout.readline()
        return Fidelity.model_validate_json(process.stdout.readline())


def busy_thread(port: int, folder: Path) -> Fidelity:
    del folder
    is_over = threading.Event()

    def spin() -> None:
        while not is_over.is_set():
            pass

    with _beside(spin, is_over):
        return _judged(port)


def pool_of_ten(port: int, folder: Path) -> Fidelity:
    """Let at most ten requests be on their way; the others wait their turn, as behind a connection pool."""
    del folder
    send, waiting = Client.send, deque[tuple[Exchange, dict[str, Any]]]()

    def held(self: Client, exchange: Exchange, **how: Any) -> None:
        waiting.append((exchange, how))
        let_go(self)

    def let_go(client: Client) -> None:
        while waiting and client.in_flight < POOL:
            exchange, how = waiting.popleft()
            send(client, exchange, **how)

    ended = Client.ended

    def end_and_let_go(self: Client, exchange: Exchange) -> None:
        ended(self, exchange)
        let_go(self)

    with mock.patch.object(Client, "send", held), mock.patch.object(Client, "ended", end_and_let_go):
        return _judged(port)


def timer_of_15_ms(port: int, folder: Path) -> Fidelity:
    """Ring at whole multiples of 15 ms only."""
    del folder
    fine = alarms.open_alarm

    class CoarseAlarm:
        def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
            self._alarm = fine(loop, ring)

        def set(self, delay_ns: int) -> None:
            step_ns, now_ns = round(COARSE_S * NS_PER_S), time.monotonic_ns()
            due_ns = -(-(now_ns + max(delay_ns, 0)) // step_ns) * step_ns
            self._alarm.set(due_ns - now_ns)

        def close(self) -> None:
            self._alarm.close()

    with (
        mock.patch("orchestrator.replay.issue.open_alarm", CoarseAlarm),
        mock.patch("orchestrator.replay.watch.open_alarm", CoarseAlarm),
    ):
        return _judged(port)


def sleep_after_each_send(port: int, folder: Path) -> Fidelity:
    """Sleep a gap after each send, as if sending took no time."""
    del folder
    send = Client.send

    @functools.wraps(send)
    def send_and_sleep(self: Client, exchange: Exchange, **how: Any) -> None:
        send(self, exchange, **how)
        time.sleep(1 / RATE_RPS)

    with mock.patch.object(Client, "send", send_and_sleep):
        return _judged(port)


def forced_collections(port: int, folder: Path) -> Fidelity:
    del folder
    is_over, heap = threading.Event(), [[] for _ in range(HEAP_OBJECTS)]

    def collect() -> None:
        while not is_over.wait(COLLECT_EVERY_S):
            gc.unfreeze()
            gc.collect()

    with _beside(collect, is_over):
        fidelity = _judged(port)
    heap.clear()
    return fidelity


def _judged(port: int) -> Fidelity:
    return judge(offered(port))


@contextmanager
def _beside(work: Callable[[], None], is_over: threading.Event) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
