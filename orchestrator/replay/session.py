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
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.records import ReplayLog, Window
from orchestrator.replay.client import Client
from orchestrator.replay.exchange import Exchange
from orchestrator.replay.issue import Issuer
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.quiet import silent_collector
from orchestrator.replay.target import Address, Target, parse_target, resolve
from orchestrator.replay.watch import Watch, ns

LEAD_NS = 20_000_000

MakeIssuer = Callable[[Sequence[Exchange], Client, Callable[[], int]], Issuer]


@dataclass(frozen=True, slots=True)
class Timing:
    """The phases of one replay, seconds: requests go out in warm-up and window, the drain waits for their answers."""

    warmup_s: float
    measure_s: float
    drain_s: float
    request_timeout_s: float


@dataclass(frozen=True, slots=True)
class Session:
    """What one replay does; `warm_connections` are open before it starts, `start_ns` None means at once."""

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
        now = self.clock.now_ns
        client = Client(
            target,
            address,
            dialect=self.dialect,
            clock=self.clock,
            timeout_ns=ns(self.timing.request_timeout_s),
            request_prefix=f"{now():x}",
        )
        issuer = self.make_issuer([client.exchange(one) for one in self.requests], client, now)
        with _faults_raised(), silent_collector():
            try:
                await client.warm(self.warm_connections)
                return await self._run_phases(client, issuer)
            finally:
                issuer.close()
                await client.close()

    async def _run_phases(self, client: Client, issuer: Issuer) -> ReplayLog:
        now = self.clock.now_ns
        start_ns = now() + LEAD_NS if self.start_ns is None else self.start_ns
        window_ns = start_ns + ns(self.timing.warmup_s)
        window = Window(window_ns, window_ns + ns(self.timing.measure_s))
        watch = Watch(now, window, client.expire)
        try:
            issuer.begin(start_ns, window)
            await watch.until(lambda at: at >= window.end_ns or issuer.exhausted_ns is not None or self._is_stopped)
            issuer.close()
            drain_end_ns = now() + ns(self.timing.drain_s)
            await watch.until(lambda at: not client.in_flight or at >= drain_end_ns or self._is_stopped)
            client.cancel_all(
                "stopped" if self._is_stopped else f"not answered within the drain of {self.timing.drain_s:g} s"
            )
        finally:
            watch.close()
        return self._log(client, issuer, start_ns=start_ns, window=window, watch=watch)

    @property
    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def _log(self, client: Client, issuer: Issuer, *, start_ns: int, window: Window, watch: Watch) -> ReplayLog:
        return ReplayLog(
            load=self.load,
            records=tuple(one.record(self.endpoint.key) for one in client.exchanges),
            started_ns=start_ns,
            window=self._cut(window, issuer.exhausted_ns),
            drained_ns=self.clock.now_ns(),
            loop_lag_ns=watch.loop_lag_ns,
            client_cpu_ratio=watch.cpu_ratio,
            notes=self._notes(client, issuer),
        )

    def _cut(self, window: Window, exhausted_ns: int | None) -> Window:
        if exhausted_ns is None:
            return window
        if exhausted_ns <= window.start_ns:
            raise MeasurementRefusedError(
                f"{len(self.requests)} requests were used up before the window began; "
                "prepare more or shorten the warm-up"
            )
        return Window(window.start_ns, min(window.end_ns, exhausted_ns))

    def _notes(self, client: Client, issuer: Issuer) -> dict[str, str]:
        notes = {
            "request_id_prefix": client.request_prefix,
            "peak_in_flight": str(client.peak_in_flight),
            "reconnects": str(sum(one.reconnects for one in client.exchanges)),
        }
        if issuer.exhausted_ns is not None:
            notes["exhausted"] = f"all {len(self.requests)} requests were used up; the window ends there"
        if self._is_stopped:
            notes["stopped"] = "the replay was stopped from outside"
        return notes


@contextlib.contextmanager
def _faults_raised() -> Iterator[None]:
    """Raise afterwards what a callback of the loop raised: a fault of ours must not look like one of the server's."""
    faults: list[BaseException] = []

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        faults.append(error if isinstance(error, BaseException) else RuntimeError(context["message"]))

    asyncio.get_running_loop().set_exception_handler(note)
    yield
    if faults:
        raise faults[0]
