"""One replay from start to log: warm connections, warm up, measure, drain. Runs its own loop in the calling thread."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import uvloop

from adapters.openai import Dialect
from orchestrator.domain.clock import Clock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.records import ClientPath, ReplayLog, Window
from orchestrator.replay.client import Client
from orchestrator.replay.course import Course
from orchestrator.replay.flow import Monitor, RecordSink, RequestFeed
from orchestrator.replay.issue import Issuer
from orchestrator.replay.ledger import Ledger
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.quiet import silent_collector
from orchestrator.replay.supply import Supply
from orchestrator.replay.target import Address, Target, parse_target, resolve
from orchestrator.replay.watch import ns

LEAD_NS = 20_000_000

MakeIssuer = Callable[[Supply, Client, Callable[[], int]], Issuer]


@dataclass(frozen=True, slots=True)
class Timing:
    """The phases of one replay, seconds: requests go out in warm-up and window, the drain waits for their answers."""

    warmup_s: float
    measure_s: float
    drain_s: float
    request_timeout_s: float


@dataclass(frozen=True, slots=True, repr=False)  # asyncio spells out its task at the end, with all its requests
class Session:
    """What one replay does; `warm_connections` are open before it starts, `start_ns` None means at once.

    Requests are those of the sequence, then those of the feed. Records go to the sink, or stand in the log where there
    is none. The monitor may end the load. A session that stays awake burns its core, and is told of its tokens sooner.
    """

    requests: Sequence[PreparedRequest]
    endpoint: Endpoint
    load: OfferedLoad
    timing: Timing
    dialect: Dialect
    clock: Clock
    make_issuer: MakeIssuer
    warm_connections: int
    stop: threading.Event | None = None
    start_ns: int | None = None
    feed: RequestFeed | None = None
    sink: RecordSink | None = None
    monitor: Monitor | None = None
    stays_awake: bool = False

    def run(self) -> ReplayLog:
        """Replay and return the log.

        Raises:
            InputError: the endpoint's URL or name is of no use.
            MeasurementRefusedError: the requests ran out before the window began.
        """
        target = parse_target(self.endpoint, self.dialect)
        address = resolve(target)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(self._replay(target, address))

    async def _replay(self, target: Target, address: Address) -> ReplayLog:
        ledger = Ledger(self.endpoint.key, sink=self.sink, monitor=self.monitor)
        client = Client(
            target,
            address,
            dialect=self.dialect,
            clock=self.clock,
            timeout_ns=ns(self.timing.request_timeout_s),
            request_prefix=f"{self.clock.now_ns():x}",
            tell=ledger.enter,
        )
        supply = Supply(self.requests, self.feed, client.exchange)
        supply.fill(limit=None)
        now = self.clock.now_ns
        course = Course(
            client,
            self.make_issuer(supply, client, now),
            supply,
            now,
            self.monitor,
            self.stop,
            stays_awake=self.stays_awake,
        )
        with _faults_raised(), silent_collector():
            try:
                await client.warm(self.warm_connections)
                return await self._measure(course, ledger, path=target.client_path)
            finally:
                course.issuer.close()
                await client.close()

    async def _measure(self, course: Course, ledger: Ledger, *, path: ClientPath) -> ReplayLog:
        start_ns = course.now() + LEAD_NS if self.start_ns is None else self.start_ns
        window_ns = start_ns + ns(self.timing.warmup_s)
        window = Window(window_ns, window_ns + ns(self.timing.measure_s))
        watch = await course.run(start_ns, window, drain_ns=ns(self.timing.drain_s))
        return ReplayLog(
            load=self.load,
            records=ledger.records(),
            started_ns=start_ns,
            window=course.cut(window),
            drained_ns=course.now(),
            loop_lag_ns=watch.loop_lag_ns,
            client_cpu_ratio=watch.cpu_ratio,
            notes=_notes(course),
            path=path,
            early_stop=course.early_stop,
        )


def _notes(course: Course) -> dict[str, str]:
    notes = {
        "request_id_prefix": course.client.request_prefix,
        "peak_in_flight": str(course.client.peak_in_flight),
        "reconnects": str(course.client.num_reconnects),
    }
    if course.issuer.exhausted_ns is not None:
        notes["exhausted"] = f"all {course.supply.num_taken} requests were used up; the window ends there"
    if course.is_stopped:
        notes["stopped"] = "the replay was stopped from outside"
    return notes


@contextlib.contextmanager
def _faults_raised() -> Iterator[None]:
    """End the replay with what a callback of the loop raised: our fault must not look like one of the server's."""
    faults: list[BaseException] = []
    task = asyncio.current_task()

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        faults.append(error if isinstance(error, BaseException) else RuntimeError(context["message"]))
        if task is not None and len(faults) == 1:
            task.cancel()

    asyncio.get_running_loop().set_exception_handler(note)
    try:
        yield
    except asyncio.CancelledError:
        if not faults:
            raise
    if faults:
        raise faults[0]
