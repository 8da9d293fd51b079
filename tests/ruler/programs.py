"""Starts what a replay talks to: a simulated engine, a relay before it, and the sampler of the engine's own series."""

import os
import re
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from adapters.simulated.adapter import METRICS
from orchestrator.telemetry.collector import Collector
from tests.command_line import ROOT

START_LIMIT_S = 30.0
REAL_TIME_PRIORITY = 10
PORT = re.compile(r":(\d+)\b")


def cores() -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """Return the client's core and the others' where there are two; else leave the client where it is."""
    found = sorted(os.sched_getaffinity(0))
    return ((found[0],), tuple(found[1:])) if len(found) > 1 else (None, tuple(found))


@contextmanager
def undisturbed() -> Iterator[bool]:
    """Let this thread, and what it starts, go before the machine's other work; yield whether that is allowed here."""
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, before, parameters)


@contextmanager
def simulated(*flags: str) -> Iterator[int]:
    """Run a simulated engine and yield its port."""
    with _program([sys.executable, "-m", "adapters.simulated.server", "--port", "0", *flags]) as port:
        yield port


@contextmanager
def relay(port: int, *flags: str) -> Iterator[int]:
    """Run a relay to a port and yield its own."""
    with _program([sys.executable, "-m", "tests.ruler.relay", str(port), *flags]) as own:
        yield own


@contextmanager
def sampled(port: int, folder: Path) -> Iterator[Collector]:
    """Sample a simulated engine's series, as a trial does."""
    collector = Collector(
        metrics_url=f"http://127.0.0.1:{port}/metrics",
        server_metrics=METRICS,
        root_pid=None,
        folder=folder,
        hz=10,
        cpus=cores()[1],
    )
    with collector:
        yield collector


@contextmanager
def _program(argv: Sequence[str]) -> Iterator[int]:
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        os.sched_setaffinity(process.pid, cores()[1])
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            assert selector.select(START_LIMIT_S), f"{argv} said nothing within {START_LIMIT_S:g} s"
        found = PORT.search(process.stdout.readline())
        assert found is not None, f"{argv} did not say its port"
        yield int(found.group(1))
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
