"""A server's address taken apart once, before the window: what to connect to and the head of every request.

Holds the key only inside the head; ignores proxies, as nothing here asks for them.
"""

import socket
import ssl
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from adapters.openai import Dialect
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError

PROBE_TIMEOUT_S = 5.0
DEFAULT_PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """A numeric address and a port: connecting to it asks no name server."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. `server_name` is what TLS must prove; `key` is never shown."""

    host: str
    port: int
    path: str
    tls: ssl.SSLContext | None
    keeps_alive: bool
    key: str | None = field(default=None, repr=False)

    @property
    def server_name(self) -> str | None:
        """Return the name that the server's certificate must carry, None without TLS."""
        return self.host if self.tls else None

    def head(self, request_id: str, body_bytes: int) -> bytes:
        """Return a request's line and headers, up to and with the empty line."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [
            f"POST {self.path} HTTP/1.1",
            f"Host: {host}:{self.port}",
            "Content-Type: application/json",
            "Accept: text/event-stream",
            f"X-Request-Id: {request_id}",
            f"Content-Length: {body_bytes}",
        ]
        lines += [f"Authorization: Bearer {self.key}"] if self.key else []
        lines += [] if self.keeps_alive else ["Connection: close"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def parse_target(endpoint: Endpoint, dialect: Dialect) -> Target:
    """Take an endpoint's address apart.

    Raises:
        InputError: it is no http or https URL with a host, or the key cannot stand in a header.
    """
    parts = urlsplit(endpoint.base_url)
    try:
        port = parts.port
    except ValueError as error:
        raise InputError(f"{endpoint.base_url!r} has no usable port: {error}") from error
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or parts.query or parts.fragment:
        raise InputError(f"expected a URL such as http://127.0.0.1:8000, seen {endpoint.base_url!r}")
    if endpoint.key is not None and not (endpoint.key.isascii() and endpoint.key.isprintable()):
        raise InputError("the API key holds characters that cannot stand in a header; check it for line breaks")
    return Target(
        host=parts.hostname,
        port=port or DEFAULT_PORTS[parts.scheme],
        path=parts.path.rstrip("/") + dialect.path,
        tls=ssl.create_default_context() if parts.scheme == "https" else None,
        keeps_alive=dialect.capabilities.keeps_alive,
        key=endpoint.key,
    )


def resolve(target: Target) -> Address:
    """Return the first numeric address, IPv6 or IPv4, that takes a connection; the first of all where none does.

    Raises:
        InputError: the name has no address.
    """
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InputError(f"no address for host {target.host!r}: {error}; check the URL") from error
    addresses = [Address(str(entry[4][0]), target.port) for entry in found]
    return next(filter(_takes_connection, addresses), addresses[0])


def _takes_connection(address: Address) -> bool:
    try:
        with socket.create_connection(address, timeout=PROBE_TIMEOUT_S):
            return True
    except OSError:
        return False
