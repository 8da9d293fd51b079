"""Sends exchanges over connections: one connection an exchange, reused when kept alive, never a cap on their number."""

import asyncio
import errno
import sys
from collections.abc import Callable

from adapters.openai import Dialect, EventMemo
from orchestrator.domain.clock import Clock
from orchestrator.domain.records import RequestFailure
from orchestrator.replay.connection import Connection
from orchestrator.replay.dialing import dial
from orchestrator.replay.exchange import Exchange
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.target import Address, Target
from orchestrator.replay.wire import Wires

STALE_WITHIN_NS = 1_000_000_000
CLOSE_TURNS = 200
WARM_TOGETHER = 32


class Client:
    """Owns every connection and the exchanges in flight; `tell` is told of each that has ended, which is then let go.

    Lives on one running event loop.
    """

    def __init__(
        self,
        target: Target,
        address: Address,
        *,
        dialect: Dialect,
        clock: Clock,
        timeout_ns: int,
        request_prefix: str,
        tell: Callable[[Exchange], None],
    ) -> None:
        self.peak_in_flight = 0
        self.num_reconnects = 0
        self.num_sent = 0
        self.request_prefix = request_prefix
        self._tell = tell
        self._target = target
        self._address = address
        self._dialect = dialect
        self._memo = EventMemo()
        self._now = clock.now_ns
        self._wires = Wires(asyncio.get_running_loop(), self._now) if sys.platform == "linux" else None
        self._timeout_ns = timeout_ns
        self._idle: list[Connection] = []
        self._in_flight: dict[Exchange, Connection | None] = {}
        self._connections: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()

    @property
    def in_flight(self) -> int:
        """Count the requests that were sent and have no verdict."""
        return len(self._in_flight)

    @property
    def num_acts(self) -> int | None:
        """Count sends and reads so far; None where reads are not the client's own and cannot be counted."""
        if self._wires is None or self._target.tls is not None:
            return None
        return self.num_sent + self._wires.num_reads

    def exchange(self, request: PreparedRequest) -> Exchange:
        """Make an exchange ready to be sent; done before the window."""
        head = self._target.head(f"{self.request_prefix}-{request.index}", len(request.body))
        return Exchange(request, head, scanner=self._dialect.scanner(self._memo))

    async def warm(self, count: int) -> None:
        """Open connections before the window; a server that takes none is found out by the requests themselves."""
        if not self._target.keeps_alive:
            return
        for opened in range(0, count, WARM_TOGETHER):
            dials = (self._connect() for _ in range(min(WARM_TOGETHER, count - opened)))
            made = await asyncio.gather(*dials, return_exceptions=True)
            self._idle += [one for one in made if isinstance(one, Connection) and one.is_open]
            if any(isinstance(one, BaseException) for one in made):
                return

    def send(self, exchange: Exchange, *, intended_ns: int, on_end: Callable[[Exchange], None] | None = None) -> None:
        """Send at once, on an idle connection or a new one; `on_end` is told when the exchange has its verdict."""
        exchange.intended_ns = intended_ns
        exchange.dispatched_ns = self._now()
        exchange.deadline_ns = exchange.dispatched_ns + self._timeout_ns
        exchange.on_end = on_end
        self._in_flight[exchange] = None
        self.num_sent += 1
        self.peak_in_flight = max(self.peak_in_flight, len(self._in_flight))
        self._carry(exchange)

    def expire(self, now_ns: int) -> None:
        """Time out every exchange whose deadline has passed; cheap, since deadlines come in order."""
        while (exchange := next(iter(self._in_flight), None)) is not None and exchange.deadline_ns <= now_ns:
            limit_s = self._timeout_ns / 1e9
            self._break_off(exchange, RequestFailure.TIMEOUT, f"no whole answer within {limit_s:g} s")

    def cancel_all(self, reason: str) -> None:
        """Break off whatever is in flight."""
        for exchange in list(self._in_flight):
            self._break_off(exchange, RequestFailure.CANCELLED, reason)

    async def close(self) -> None:
        """Close every connection and wait until the loop has let go of them."""
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        for connection in list(self._connections):
            connection.abort()
        for _ in range(CLOSE_TURNS):
            if not self._connections:
                break
            await asyncio.sleep(0.001)
        if self._wires is not None:
            self._wires.close()

    def opened(self, connection: Connection) -> None:
        """Know a new connection."""
        self._connections.add(connection)

    def released(self, connection: Connection) -> None:
        """Take a connection back; the latest is used first, so that spare ones age on the server's side."""
        if self._target.keeps_alive:
            self._idle.append(connection)
        else:
            connection.abort()

    def gone(self, connection: Connection) -> None:
        """Forget a closed connection."""
        self._connections.discard(connection)

    def ended(self, exchange: Exchange) -> None:
        """Tell who waits for an ended exchange, then who keeps its facts, and let it go."""
        del self._in_flight[exchange]
        if exchange.on_end is not None:
            exchange.on_end(exchange)
        self._tell(exchange)

    def dropped(self, exchange: Exchange, connection: Connection, detail: str) -> None:
        """Send once more what met a kept-alive connection that the server had just closed; else end it as cut."""
        now_ns = self._now()
        is_stale = connection.was_idle and not connection.has_answered and not exchange.reconnects
        if is_stale and exchange.sent_ns is not None and now_ns - exchange.sent_ns < STALE_WITHIN_NS:
            exchange.reconnects += 1
            self.num_reconnects += 1
            self._in_flight[exchange] = None
            self._open(exchange, began_ns=exchange.sent_ns)
            return
        exchange.end_closed(now_ns, detail)
        self.ended(exchange)

    def _carry(self, exchange: Exchange) -> None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                self._start(exchange, connection, was_idle=True)
                return
        self._open(exchange, began_ns=exchange.dispatched_ns)

    def _start(self, exchange: Exchange, connection: Connection, *, was_idle: bool) -> None:
        self._in_flight[exchange] = connection
        connection.start(exchange, was_idle=was_idle)

    def _open(self, exchange: Exchange, *, began_ns: int) -> None:
        task = asyncio.get_running_loop().create_task(self._open_and_start(exchange, began_ns))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open_and_start(self, exchange: Exchange, began_ns: int) -> None:
        try:
            connection = await self._connect()
        except OSError as error:
            if not exchange.is_over:
                exchange.end_failed(self._now(), RequestFailure.REFUSED, _tell_why(error))
                self.ended(exchange)
            return
        exchange.connect_ns += self._now() - began_ns
        if exchange.is_over:
            self.released(connection)
        else:
            self._start(exchange, connection, was_idle=False)

    async def _connect(self) -> Connection:
        return await dial(self._target, self._address, Connection(self, self._now), self._wires)

    def _break_off(self, exchange: Exchange, failure: RequestFailure, detail: str) -> None:
        connection = self._in_flight.get(exchange)
        if connection is not None:
            connection.digest()  # what came in time is part of the answer, and may be the whole of it
            if exchange.is_over:
                return
            connection.abort()
        exchange.end_failed(self._now(), failure, detail)
        self.ended(exchange)


def _tell_why(error: OSError) -> str:
    """Say why a connection could not be made, and what the machine lacks where it is the machine."""
    match error.errno:
        case errno.EADDRNOTAVAIL:
            hint = (
                "; no local port is left to this server: widen net.ipv4.ip_local_port_range, or keep connections alive"
            )
        case errno.EMFILE | errno.ENFILE:
            hint = "; no file descriptor is left: raise the limit (ulimit -n)"
        case _:
            hint = ""
    return f"could not connect: {error}{hint}"
