"""The sampling program: a process of its own, so that the replay client's interpreter is never held up.

It reads one JSON line on stdin (an `Order`), says `ready` on stdout once every source was looked at, and ends with
stdin or with its parent.
"""

import json
import os
import select
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from orchestrator.telemetry.device_source import DeviceSource
from orchestrator.telemetry.engine_source import EngineSource
from orchestrator.telemetry.exposition import Target
from orchestrator.telemetry.nvml import open_probe
from orchestrator.telemetry.order import Order
from orchestrator.telemetry.process_source import HostSource, TreeSource
from orchestrator.telemetry.reading import Source
from orchestrator.telemetry.sampling import Sink, look, sample

PARENT_CHECK_S = 1.0


def sources(order: Order) -> Iterator[Source]:
    """Open every source that the order and this machine have."""
    yield HostSource()
    if order.root_pid is not None:
        yield TreeSource(order.root_pid)
    if order.metrics_url is not None and order.targets:
        yield EngineSource(order.metrics_url, {sample: Target(*target) for sample, target in order.targets.items()})
    probe = open_probe(order.devices)
    if probe is not None:
        yield DeviceSource(probe)


def _await_end() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], PARENT_CHECK_S)
        if readable and not os.read(sys.stdin.fileno(), 1):
            return


def main() -> None:
    """Sample until the end of stdin."""
    order = Order(**json.loads(sys.stdin.readline()))
    if order.cpus:
        os.sched_setaffinity(0, order.cpus)
    stop = threading.Event()
    with Path(order.path).open("w", encoding="utf-8") as file:
        sink = Sink(file)
        found = list(sources(order))
        for source in found:
            look(source, sink, interval_ns=order.interval_ns)
        threads = [
            threading.Thread(target=sample, args=(source, sink, stop), kwargs={"interval_ns": order.interval_ns})
            for source in found
        ]
        for thread in threads:
            thread.start()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        _await_end()
        stop.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
