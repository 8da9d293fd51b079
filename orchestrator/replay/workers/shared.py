"""Offers one load from several client processes: who they are, and the call that comes back with one log."""

import asyncio
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import uvloop

from adapters.openai import Dialect
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.replay.flow import Monitor
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.quiet import pinned
from orchestrator.replay.session import Timing
from orchestrator.replay.workers.channel import Launch, launch_process
from orchestrator.replay.workers.coordinator import Coordinator
from orchestrator.replay.workers.gathering import Gatherer, InMemory
from orchestrator.replay.workers.order import Order, cores_of, share_out


@dataclass(frozen=True, slots=True)
class Crew:
    """Who sends: how many workers, their cores in turn (None: any), and how one is started.

    The coordinator is kept on `coordinator_cpus`; None are those of workers on this machine, so that it leaves an
    engine on the other cores alone. Workers that stay awake have their cores to themselves, the coordinator apart.
    """

    workers: int
    cpus: tuple[int, ...] | None = None
    launch: Launch = launch_process
    coordinator_cpus: tuple[int, ...] | None = None
    stays_awake: bool = False

    @property
    def own_cpus(self) -> tuple[int, ...] | None:
        """Return the cores of the coordinator."""
        return self.coordinator_cpus or (self.cpus if self.launch is launch_process else None)


def replay_shared(
    requests: Iterable[PreparedRequest],
    endpoint: Endpoint,
    *,
    load: OfferedLoad,
    timing: Timing,
    crew: Crew,
    dialect: Dialect | None = None,
    stop: threading.Event | None = None,
    monitor: Monitor | None = None,
    records_path: Path | None = None,
) -> ReplayLog:
    """Offer one load from several client processes and return one log, in order of intended arrival.

    `requests` may be made while they are asked for, in order of time: they are taken some seconds ahead. With
    `records_path` records go to that file while they come, and the log's are read from it. Blocks the calling thread,
    which must not run an event loop. A worker that is lost is named in the log's `workers`, and its requests are there
    as cancelled ones. Times are the machine's own, since no other clock reaches another process.

    Raises:
        InputError: endpoint or cores are of no use.
        MeasurementRefusedError: a worker did not get ready, or refused; or the disk does not keep up.
        OSError: the records cannot be written.
    """
    shares = share_out(load, crew.workers)
    orders = [
        Order(endpoint, share, timing, dialect or Dialect(), cores, stays_awake=crew.stays_awake)
        for share, cores in zip(shares, cores_of(crew.cpus, len(shares)), strict=True)
    ]
    gatherer = _gatherer(records_path)
    try:
        run = Coordinator(orders, load, gatherer, clock=SystemClock(), stop=stop, monitor=monitor)
        with pinned(crew.own_cpus), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return gatherer.finish(runner.run(run.replay(requests, crew.launch)))
    finally:
        gatherer.close()


def _gatherer(path: Path | None) -> Gatherer:
    if path is None:
        return InMemory()
    from orchestrator.replay.record_writer import RecordWriter  # noqa: PLC0415 - Arrow takes a third of a second

    return RecordWriter(path)
