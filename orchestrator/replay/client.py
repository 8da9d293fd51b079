"""Sends exchanges over connections: one connection an exchange, reused when kept alive, never a cap on their number."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from adapters.openai import Dialect
from orchestrator.domain.clock import Clock
from orchestrator.domain.records import RequestFailure
from orchestrator.replay.connection import Connection
from orchestrator.replay.exchange import Exchange
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.target import Address, Target

STALE_WITHIN_NS = 1_000_000_000
CLOSE_TURNS = 200


class Client:
    """Owns every connection and every exchange of one replay; lives on one running event loop."""

    def __init__(
        self, target: Target, address: Address, *, dialect: Dialect, clock: Clock, timeout_ns: int, request_prefix: str
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.in_flight = 0
        self.peak_in_flight = 0
        self.request_prefix = request_prefix
        self._target = target
        self._address = address
        self._dialect = dialect
        self._now = clock.now_ns
        self._timeout_ns = timeout_ns
        self._idle: list[Connection] = []
        self._carriers: dict[Exchange, Connection] = {}
        self._connections: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._by_deadline: deque[Exchange] = deque()

    def exchange(self, request: PreparedRequest) -> Exchange:
        """Make an exchange ready to be sent; done before the window."""
        head = self._target.head(f"{self.request_prefix}-{request.index}", len(request.body))
        return Exchange(request, head, scanner=self._dialect.scanner())

    async def warm(self, count: int) -> None:
        """Open connections before the window; a server that takes none is found out by the requests themselves."""
        if self._target.keeps_alive:
            made = await asyncio.gather(*(self._connect() for _ in range(count)), return_exceptions=True)
            self._idle += [one for one in made if isinstance(one, Connection) and one.is_open]

    def send(self, exchange: Exchange, *, intended_ns: int, on_end: Callable[[Exchange], None] | None = None) -> None:
        """Send at once, on an idle connection or a new one; `on_end` is told when the exchange has its verdict."""
        exchange.intended_ns = intended_ns
        exchange.dispatched_ns = self._now()
        exchange.deadline_ns = exchange.dispatched_ns + self._timeout_ns
        exchange.on_end = on_end
        self.exchanges.append(exchange)
        self._by_deadline.append(exchange)
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        self._carry(exchange)

    def expire(self, now_ns: int) -> None:
        """Time out every exchange whose deadline has passed; cheap, since deadlines come in order."""
        waiting = self._by_deadline
        while waiting and (waiting[0].is_over or waiting[0].deadline_ns <= now_ns):
            exchange = waiting.popleft()
            if not exchange.is_over:
                limit_s = self._timeout_ns / 1e9
                self._break_off(exchange, RequestFailure.TIMEOUT, f"no whole answer within {limit_s:g} s")

    def cancel_all(self, reason: str) -> None:
        """Break off whatever is in flight."""
        for exchange in [one for one in self._by_deadline if not one.is_over]:
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
                return
            await asyncio.sleep(0.001)

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
        """Count an ended exchange and tell who waits for it."""
        self._carriers.pop(exchange, None)
        self.in_flight -= 1
        if exchange.on_end is not None:
            exchange.on_end(exchange)

    def dropped(self, exchange: Exchange, connection: Connection, detail: str) -> None:
        """Send once more what met a kept-alive connection that the server had just closed; else end it as cut."""
        now_ns = self._now()
        is_stale = connection.was_idle and not connection.has_answered and not exchange.reconnects
        if is_stale and exchange.sent_ns is not None and now_ns - exchange.sent_ns < STALE_WITHIN_NS:
            exchange.reconnects += 1
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
        self._carriers[exchange] = connection
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
                exchange.end_failed(self._now(), RequestFailure.REFUSED, f"could not connect: {error}")
                self.ended(exchange)
            return
        exchange.connect_ns += self._now() - began_ns
        if exchange.is_over:
            self.released(connection)
        else:
            self._start(exchange, connection, was_idle=False)

    async def _connect(self) -> Connection:
        transport, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self, self._now),
            self._address.host,
            self._address.port,
            ssl=self._target.tls,
            server_hostname=self._target.server_name,
        )
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _break_off(self, exchange: Exchange, failure: RequestFailure, detail: str) -> None:
        connection = self._carriers.get(exchange)
        if connection is not None:
            connection.abort()
        exchange.end_failed(self._now(), failure, detail)
        self.ended(exchange)
