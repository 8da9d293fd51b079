"""One connection to the server: writes prepared bytes, notes what arrives and when, and reads it later in batches."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, cast

import httptools

from orchestrator.domain.records import RequestFailure
from orchestrator.replay.exchange import Exchange
from orchestrator.replay.wire import is_ripe

FIRST_FINAL_STATUS = 200


class Owner(Protocol):
    """Who is told what becomes of a connection and of the exchange on it."""

    def opened(self, connection: "Connection") -> None:
        """The connection is there."""
        ...

    def released(self, connection: "Connection") -> None:
        """The connection may carry another exchange."""
        ...

    def gone(self, connection: "Connection") -> None:
        """The connection is closed."""
        ...

    def ended(self, exchange: Exchange) -> None:
        """The exchange has its verdict."""
        ...

    def dropped(self, exchange: Exchange, connection: "Connection", detail: str) -> None:
        """The connection was lost under an exchange that has no verdict."""
        ...


class Transport(Protocol):
    """What a connection asks of asyncio's transport, or of a wire."""

    def write(self, data: bytes) -> None:
        """Send."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...

    def is_closing(self) -> bool:
        """Say whether it is closed."""
        ...


class Connection(asyncio.Protocol):
    """Carries one exchange at a time; `was_idle` and `has_answered` speak of the current one.

    Pieces keep their times of arrival and wait for `digest`, once a chunked stream has begun (`defers`): no token costs
    more than that while its window runs.
    """

    def __init__(self, owner: Owner, now: Callable[[], int]) -> None:
        self.was_idle = False
        self.has_answered = False
        self.pieces: list[bytes] = []
        self.times_ns: list[int] = []
        self.defers = False
        self._owner = owner
        self._now = now
        self._exchange: Exchange | None = None
        self._transport: Transport | None = None
        self._bodies: list[bytes] = []
        self.on_body = self._bodies.append  # httptools' callback
        self._parser = httptools.HttpResponseParser(self)
        self._is_message_whole = False
        self._keeps_alive = False

    @property
    def is_open(self) -> bool:
        """Say whether the connection can carry an exchange."""
        return self._transport is not None and not self._transport.is_closing()

    def start(self, exchange: Exchange, *, was_idle: bool) -> None:
        """Send the exchange's request; `was_idle` says that the connection is no new one."""
        self.was_idle = was_idle
        self.has_answered = False
        self._is_message_whole = False
        self._exchange = exchange
        data = exchange.head + exchange.request.body
        exchange.sent_ns = self._now()
        cast("Transport", self._transport).write(data)

    def abort(self) -> None:
        """Close at once, without a word to the owner about the exchange."""
        self._exchange = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take asyncio's transport."""
        self.connected(cast("asyncio.Transport", transport))

    def connected(self, transport: Transport) -> None:
        """Keep the transport and tell the owner."""
        self._transport = transport
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        """Note the time first (asyncio's callback)."""
        self.times_ns.append(self._now())
        self.pieces.append(data)
        if is_ripe(self, data):
            self.digest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the loss, and the exchange that it cut."""
        self.digest()
        exchange, self._exchange = self._exchange, None
        self._transport = None
        self._owner.gone(self)
        if exchange is not None and not exchange.is_over:
            self._owner.dropped(exchange, self, f"connection closed: {exc or 'by the server'}")

    def digest(self) -> None:
        """Read the pieces; a finished exchange is reported after the parser has let go."""
        if not self.pieces:
            return
        exchange, last_ns = self._exchange, self.times_ns[-1]
        if exchange is None:  # nothing was asked: whatever this is, the connection is of no use
            self._forget()
            self.abort()
            return
        self.has_answered = True
        try:
            error = self._parse(exchange)
        finally:
            self._forget()
        if self._is_message_whole:
            self._finish(exchange, last_ns)
        elif error is not None:
            self.abort()
            exchange.end_failed(last_ns, RequestFailure.BAD_RESPONSE, f"not HTTP: {error}")
            self._owner.ended(exchange)
        else:
            self.defers = exchange.is_chunked_stream

    def _parse(self, exchange: Exchange) -> httptools.HttpParserError | None:
        """Feed the pieces to the parser and what it found to the exchange, up to the message's end or an error."""
        counts: list[int] = []
        bodies, feed, error = self._bodies, self._parser.feed_data, None
        try:
            for piece in self.pieces:
                feed(piece)
                counts.append(len(bodies))
                if self._is_message_whole:
                    break
        except httptools.HttpParserCallbackError:
            raise  # a fault of ours, not of the server's: the session ends with it
        except httptools.HttpParserError as seen:
            counts.append(len(bodies))
            error = seen
        if len(counts) < len(self.pieces) or error is not None:
            self._keeps_alive = False  # something follows the message's end
        if bodies:
            exchange.take_bodies(bodies, _times_of_bodies(counts, self.times_ns))
        return error

    def _forget(self) -> None:
        self.pieces.clear()
        self.times_ns.clear()
        self._bodies.clear()

    def _finish(self, exchange: Exchange, now_ns: int) -> None:
        self._exchange = None
        self.defers = False
        if self._keeps_alive and self.is_open:
            self._owner.released(self)
        else:
            self.abort()
        exchange.end_whole(now_ns)
        self._owner.ended(exchange)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header (httptools' callback)."""
        if self._exchange is not None:
            self._exchange.take_header(name, value)

    def on_headers_complete(self) -> None:
        """Take the status (httptools' callback); an interim answer (1xx) is not the answer."""
        status = self._parser.get_status_code()
        if self._exchange is not None and status >= FIRST_FINAL_STATUS:
            self._exchange.take_status(status)

    def on_message_complete(self) -> None:
        """Note the end of an answer (httptools' callback); the parser knows only here whether to keep alive."""
        self._is_message_whole = self._parser.get_status_code() >= FIRST_FINAL_STATUS
        self._keeps_alive = self._parser.should_keep_alive()


def _times_of_bodies(counts: Sequence[int], times_ns: Sequence[int]) -> Sequence[int]:
    """Return each body's time: that of its piece; `counts` are the bodies known after each piece."""
    if counts == list(range(1, len(times_ns) + 1)):
        return times_ns
    times: list[int] = []
    for count, at_ns in zip(counts, times_ns, strict=False):
        times += [at_ns] * (count - len(times))
    return times
