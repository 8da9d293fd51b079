"""One HTTP question outside the measured path: one connection, one answer, whole or an error.

Follows no redirect, which would carry the key away, and asks no proxy. Blocking, and light to import: the standard
library's client takes a tenth of a second.
"""

import json
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import httptools

from orchestrator.domain.errors import InputError

TIMEOUT_S = 10.0
MAX_BODY_BYTES = 64 << 20
PIECE_BYTES = 1 << 16
FIRST_FINAL_STATUS = 200
DEFAULT_PORTS = {"http": 80, "https": 443}
UNIX_SCHEMES = ("unix", "http+unix")


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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a base URL leads: a host and port, or the path of a Unix socket."""

    host: str
    port: int
    prefix: str
    tls: ssl.SSLContext | None = None
    socket_path: str | None = None

    @property
    def host_header(self) -> str:
        """Return the value of the `Host` header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.socket_path is not None else f"{name}:{self.port}"


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


def parse_place(base_url: str) -> Place:
    """Take a base URL apart.

    Raises:
        InputError: it is no http, https or unix address.
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{base_url!r} is no usable address: {error}") from error
    if parts.scheme in UNIX_SCHEMES:
        path = unquote(parts.netloc) if parts.scheme == "http+unix" else parts.path
        return Place("localhost", 0, parts.path.rstrip("/") if parts.scheme == "http+unix" else "", socket_path=path)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise InputError(f"expected a URL such as http://127.0.0.1:8000, seen {base_url!r}")
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    return Place(parts.hostname, port or DEFAULT_PORTS[parts.scheme], parts.path.rstrip("/"), tls)


def ask(base_url: str, path: str, key: str | None, *, body: Mapping[str, Any] | None = None) -> Answer:
    """Ask once and return the answer, whatever its status; a body makes it a POST of JSON.

    Raises:
        InputError: the address or the key is of no use.
        OSError: nobody answers, or not within ten seconds.
        ValueError: what came is no HTTP, or no end of it came.
    """
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InputError("the API key holds characters that cannot stand in a header; check it for line breaks")
    place = parse_place(base_url)
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {place.prefix}{path} HTTP/1.1",
        f"Host: {place.host_header}",
        "Accept: */*",
        "Connection: close",
        *([] if body is None else ["Content-Type: application/json", f"Content-Length: {len(content)}"]),
        *([f"Authorization: Bearer {key}"] if key else []),
    ]
    with _connect(place) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + content)
        return _read(connection)


def _connect(place: Place) -> socket.socket:
    if place.socket_path is None:
        connection = socket.create_connection((place.host, place.port), timeout=TIMEOUT_S)
    else:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if place.socket_path is not None:
            connection.settimeout(TIMEOUT_S)
            connection.connect(place.socket_path)
        return connection if place.tls is None else place.tls.wrap_socket(connection, server_hostname=place.host)
    except BaseException:
        connection.close()
        raise


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
