"""One HTTP question outside the measured path: one connection, one answer, whole or an error.

Follows no redirect, which would carry the key away, and asks no proxy but the one that is named. Blocking, and light to
import: the standard library's client takes a tenth of a second.
"""

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httptools

from orchestrator.domain.errors import InputError
from orchestrator.replay.place import TIMEOUT_S, connect, parse_place
from orchestrator.replay.proxy import REFUSES_CREDENTIALS, ProxyError

MAX_BODY_BYTES = 64 << 20
PIECE_BYTES = 1 << 16
FIRST_FINAL_STATUS = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any] | None:
        """Return the body's JSON object, None where it holds none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


@dataclass(slots=True)
class _Reading:
    """Collects an answer from the parser's callbacks."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    has_head: bool = False
    is_whole: bool = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.is_whole = True

    @property
    def ends_with_connection(self) -> bool:
        """Say whether the head left it to the connection's end to end the body."""
        return self.has_head and "content-length" not in self.headers and "transfer-encoding" not in self.headers


def ask(
    base_url: str,
    path: str,
    key: str | None,
    *,
    body: Mapping[str, Any] | None = None,
    proxy: str | None = None,
) -> Answer:
    """Ask once and return the answer, whatever its status; a body makes it a POST of JSON.

    Raises:
        InputError: the address, the key or the proxy's address is of no use.
        ProxyError: the proxy leads nowhere.
        OSError: nobody answers, or not within ten seconds.
        ValueError: what came is no HTTP, or no end of it came.
    """
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InputError("the API key holds characters that cannot stand in a header; check it for line breaks")
    place = parse_place(base_url, proxy)
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {place.named(path)} HTTP/1.1",
        f"Host: {place.host_header}",
        "Accept: */*",
        "Connection: close",
        *([] if body is None else ["Content-Type: application/json", f"Content-Length: {len(content)}"]),
        *([f"Authorization: Bearer {key}"] if key else []),
        *(() if place.reader is None else place.reader.header_lines),
    ]
    with connect(place) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + content)
        answer = _read(connection)
    if answer.status == REFUSES_CREDENTIALS and place.reader is not None:
        raise ProxyError("the proxy answered 407 Proxy Authentication Required")
    return answer


def _read(connection: socket.socket) -> Answer:
    reading = _Reading()
    parser = httptools.HttpResponseParser(reading)
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        connection.settimeout(max(0.001, deadline_s - time.monotonic()))
        data = connection.recv(PIECE_BYTES)
        if not data:
            break
        try:
            parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise ValueError(f"not HTTP: {error}") from error
        if reading.is_whole and parser.get_status_code() >= FIRST_FINAL_STATUS:
            break
        if reading.is_whole:  # an interim answer, such as 100
            reading = _Reading()
            parser = httptools.HttpResponseParser(reading)
        if len(reading.body) > MAX_BODY_BYTES:
            raise ValueError(f"a body of more than {MAX_BODY_BYTES >> 20} MiB")
    if not (reading.is_whole or reading.ends_with_connection):
        raise ValueError("the connection closed before the answer was whole")
    return Answer(parser.get_status_code(), reading.headers, bytes(reading.body))
