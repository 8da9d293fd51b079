"""Faults between client and engine, and behind the client: a slow way, a proxy that buffers, a disk that stalls."""

import time
from pathlib import Path

from orchestrator.domain.fidelity import Fidelity
from orchestrator.metrics.fidelity import judge
from orchestrator.replay.record_rows import to_row
from orchestrator.replay.record_writer import RecordWriter
from tests.ruler.loads import NS_PER_S, offered
from tests.ruler.programs import relay, sampled

PATH_LATE_MS = 60
STALL_S = 5


def late_against_the_engines_own_log(port: int, folder: Path) -> Fidelity:
    with relay(port, f"--late-ms={PATH_LATE_MS}") as own, sampled(port, folder) as collector:
        log = offered(own)
        return judge(log, telemetry=collector.snapshot())


def buffering_proxy(port: int, folder: Path) -> Fidelity:
    del folder
    with relay(port, "--hold") as own:
        return judge(offered(own))


def stalled_disk(port: int, folder: Path) -> Fidelity:
    """Write the records to a disk on which every write takes five seconds, of a clock that need not be waited for."""
    log = offered(port)
    stalled_ns = 0

    def stall(_: int) -> None:
        nonlocal stalled_ns
        stalled_ns += STALL_S * NS_PER_S

    writer = RecordWriter(folder / "requests.parquet", sync=stall, now=lambda: time.monotonic_ns() + stalled_ns)
    try:
        for record in log.records:
            writer.add(to_row(record))
        return judge(writer.finish(log))
    finally:
        writer.close()
