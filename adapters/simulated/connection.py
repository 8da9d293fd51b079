"""One HTTP/1.1 connection: requests parsed, answers framed, keep-alive and pipelining kept in order. Knows no route."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.client import responses
from typing import Any, cast

import httptools

JSON = "application/json"
EVENT_STREAM = "text/event-stream; charset=utf-8"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n"
END_OF_STREAM = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request, read whole; `received_ns` is when its last bytes came in. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    received_ns: int
    keeps_alive: bool


class Connection(asyncio.Protocol):
    """Reads requests and hands them on one at a time; `on_lost` is called when the peer leaves an answer unfinished."""

    def __init__(self, handle: Callable[[HttpRequest, "Connection"], None]) -> None:
        self._handle = handle
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._pending: deque[HttpRequest] = deque()
        self._current: HttpRequest | None = None
        self._received_ns = 0
        self.is_full = False
        self.on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)  # what TCP servers are given; uvloop's does not inherit

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Tell whoever is answering that nobody listens."""
        self._transport = None
        self._pending.clear()
        if self.on_lost is not None:
            self.on_lost()

    def data_received(self, data: bytes) -> None:
        """Feed the parser; bytes that are no HTTP end the connection with 400."""
        self._received_ns = time.monotonic_ns()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:  # our own mistake while answering, not the peer's
            raise
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            print(f"simulated engine: closed a connection that spoke no HTTP: {error}", flush=True)  # noqa: T201 - its log
            self.close()

    def on_message_begin(self) -> None:
        """Start an empty request."""
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        """Collect the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect one header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Ask for the body where the client waits to be asked."""
        if self._headers.get("expect", "").lower() == "100-continue":
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Collect a piece of the body."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Queue the request; it is handled at once unless an earlier one is still being answered."""
        request = HttpRequest(
            method=self._parser.get_method().decode(),
            path=httptools.parse_url(self._url).path.decode(),
            headers=self._headers,
            body=b"".join(self._body),
            received_ns=self._received_ns,
            keeps_alive=self._parser.should_keep_alive(),
        )
        self._pending.append(request)
        self._handle_next()

    def _handle_next(self) -> None:
        if self._current is None and self._pending:
            self._current = self._pending.popleft()
            self._handle(self._current, self)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _head(self, status: int, content_type: str, length: int, *, more: str = "") -> bytes:
        reason = responses.get(status, "Injected")
        lines = f"HTTP/1.1 {status} {reason}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n{more}"
        return lines.encode() + self._connection_header()

    def _connection_header(self) -> bytes:
        keeps_alive = self._current is not None and self._current.keeps_alive
        return b"\r\n" if keeps_alive else b"connection: close\r\n\r\n"

    def _ended(self) -> None:
        keeps_alive = self._current is not None and self._current.keeps_alive
        self._current = None
        self.on_lost = None
        if keeps_alive:
            self._handle_next()
        else:
            self.close()

    def respond(self, status: int, body: bytes, content_type: str = JSON, *, more: str = "") -> None:
        """Answer whole; `more` holds further header lines, each with its line end."""
        self._write(self._head(status, content_type, len(body), more=more) + body)
        self._ended()

    def respond_json(self, status: int, row: dict[str, Any], *, more: str = "") -> None:
        """Answer with one JSON object."""
        self.respond(status, json.dumps(row).encode(), more=more)

    def start(self, length: int) -> None:
        """Send the headers of a JSON answer of `length` bytes and no byte of it."""
        self._write(self._head(200, JSON, length))

    def start_stream(self, content_type: str = EVENT_STREAM) -> None:
        """Send the headers of a stream, of server-sent events where nothing else is said."""
        self._write(STREAM_HEAD % content_type.encode() + self._connection_header())

    def write_raw(self, data: bytes) -> None:
        """Send bytes of a stream that the caller has framed."""
        self._write(data)

    def pause_writing(self) -> None:
        """Note that the peer does not take what is written (the event loop's callback)."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Note that the peer takes bytes again (the event loop's callback)."""
        self.is_full = False

    def send(self, data: bytes) -> None:
        """Send events as one HTTP chunk."""
        self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """End the stream as HTTP wants it ended."""
        self._write(END_OF_STREAM)
        self._ended()

    def close(self) -> None:
        """Close once all that was written is out; an unfinished answer stays unfinished."""
        self._current = None
        self.on_lost = None
        if self._transport is not None:
            self._transport.close()
