"""One connection to the server: writes prepared bytes, feeds what arrives to the exchange that it carries."""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from orchestrator.domain.records import RequestFailure
from orchestrator.replay.exchange import Exchange

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


class Connection(asyncio.Protocol):
    """Carries one exchange at a time; `was_idle` and `has_answered` speak of the current one."""

    def __init__(self, owner: Owner, now: Callable[[], int]) -> None:
        self.was_idle = False
        self.has_answered = False
        self._owner = owner
        self._now = now
        self._exchange: Exchange | None = None
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._received_ns = 0
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
        cast("asyncio.Transport", self._transport).write(data)

    def abort(self) -> None:
        """Close at once, without a word to the owner about the exchange."""
        self._exchange = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and tell the owner."""
        self._transport = cast("asyncio.Transport", transport)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        """Note the time first, then parse; a finished exchange is reported after the parser has let go."""
        self._received_ns = self._now()
        exchange = self._exchange
        if exchange is None:  # nothing was asked: whatever this is, the connection is of no use
            self.abort()
            return
        self.has_answered = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            raise  # a fault of ours, not of the server's: the session ends with it
        except httptools.HttpParserError as error:
            self.abort()
            exchange.end_failed(self._received_ns, RequestFailure.BAD_RESPONSE, f"not HTTP: {error}")
            self._owner.ended(exchange)
            return
        if self._is_message_whole:
            self._finish(exchange)

    def _finish(self, exchange: Exchange) -> None:
        self._exchange = None
        if self._keeps_alive and self.is_open:
            self._owner.released(self)
        else:
            self.abort()
        exchange.end_whole(self._received_ns)
        self._owner.ended(exchange)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the loss, and the exchange that it cut."""
        exchange, self._exchange = self._exchange, None
        self._transport = None
        self._owner.gone(self)
        if exchange is not None and not exchange.is_over:
            self._owner.dropped(exchange, self, f"connection closed: {exc or 'by the server'}")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header (httptools' callback)."""
        if self._exchange is not None:
            self._exchange.take_header(name, value)

    def on_headers_complete(self) -> None:
        """Take the status (httptools' callback); an interim answer (1xx) is not the answer."""
        status = self._parser.get_status_code()
        if self._exchange is not None and status >= FIRST_FINAL_STATUS:
            self._exchange.take_status(status)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body (httptools' callback)."""
        if self._exchange is not None:
            self._exchange.take_body(body, self._received_ns)

    def on_message_complete(self) -> None:
        """Note the end of an answer (httptools' callback); the parser knows only here whether to keep alive."""
        self._is_message_whole = self._parser.get_status_code() >= FIRST_FINAL_STATUS
        self._keeps_alive = self._parser.should_keep_alive()
