"""A server's address taken apart once, before the window: what to connect to and the head of every request.

Holds the key only inside the head; knows no proxy but the one that the endpoint asks for.
"""

import socket
import ssl
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from adapters.openai import Dialect
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError
from orchestrator.domain.records import ClientPath
from orchestrator.replay.proxy import Proxy, proxy_to, spell_authority
from orchestrator.replay.redaction import refuse_credentials

PROBE_TIMEOUT_S = 5.0
DEFAULT_PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """A numeric address and a port: connecting to it asks no name server."""

    host: str
    port: int
    family: socket.AddressFamily = socket.AF_INET

    @property
    def socket_address(self) -> tuple[str, int] | str:
        """Return what a socket connects to; of a Unix socket `host` is the path."""
        return self.host if self.family == socket.AF_UNIX else (self.host, self.port)


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go, and by way of which proxy. `server_name` is what TLS must prove; `key` is never shown."""

    host: str
    port: int
    path: str
    tls: ssl.SSLContext | None
    keeps_alive: bool
    key: str | None = field(default=None, repr=False)
    socket_path: str | None = None
    proxy: Proxy | None = None

    @property
    def server_name(self) -> str | None:
        """Return the name that the server's certificate must carry, None without TLS."""
        return self.host if self.tls else None

    @property
    def client_path(self) -> ClientPath:
        """Say how requests travel there."""
        if self.proxy is not None:
            return ClientPath.PROXY
        if self.socket_path is not None:
            return ClientPath.UNIX
        return ClientPath.TLS if self.tls else ClientPath.DIRECT

    def head(self, request_id: str, body_bytes: int) -> bytes:
        """Return a request's line and headers, up to and with the empty line; a proxy is told the whole address."""
        host = self.host if self.socket_path is not None else spell_authority(self.host, self.port)
        reader = None if self.tls else self.proxy
        lines = [
            f"POST {self.path} HTTP/1.1" if reader is None else f"POST http://{host}{self.path} HTTP/1.1",
            f"Host: {host}",
            "Content-Type: application/json",
            "Accept: text/event-stream",
            f"X-Request-Id: {request_id}",
            f"Content-Length: {body_bytes}",
        ]
        lines += [f"Authorization: Bearer {self.key}"] if self.key else []
        lines += [] if reader is None else reader.header_lines
        lines += [] if self.keeps_alive else ["Connection: close"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def parse_target(endpoint: Endpoint, dialect: Dialect) -> Target:
    """Take an endpoint's address apart: http, https, or a Unix socket.

    A socket is `unix:///run/engine.sock`, or `http+unix://%2Frun%2Fengine.sock/prefix` where paths have a prefix.

    Raises:
        InputError: it is none of these, the key cannot stand in a header, or the proxy is of no use.
    """
    refuse_credentials(endpoint.base_url)
    parts = urlsplit(endpoint.base_url)
    try:
        port = parts.port
    except ValueError as error:
        raise InputError(f"{endpoint.base_url!r} has no usable port: {error}") from error
    socket_path = _socket_path(parts)
    if socket_path is None and (parts.scheme not in DEFAULT_PORTS or not parts.hostname):
        raise InputError(f"expected a URL such as http://127.0.0.1:8000, seen {endpoint.base_url!r}")
    if parts.query or parts.fragment:
        raise InputError(f"expected a URL such as http://127.0.0.1:8000, seen {endpoint.base_url!r}")
    if endpoint.key is not None and not (endpoint.key.isascii() and endpoint.key.isprintable()):
        raise InputError("the API key holds characters that cannot stand in a header; check it for line breaks")
    return Target(
        host="localhost" if socket_path is not None else str(parts.hostname),
        port=0 if socket_path is not None else port or DEFAULT_PORTS[parts.scheme],
        path=("" if parts.scheme == "unix" else parts.path.rstrip("/")) + dialect.path,
        tls=ssl.create_default_context() if parts.scheme == "https" else None,
        keeps_alive=dialect.capabilities.keeps_alive,
        key=endpoint.key,
        socket_path=socket_path,
        proxy=proxy_to(endpoint.proxy, socket_path=socket_path),
    )


def _socket_path(parts: SplitResult) -> str | None:
    """Return the path of the Unix socket that a URL names, None where it names none."""
    match parts.scheme:
        case "unix":
            return parts.path if parts.path and not parts.netloc else None
        case "http+unix":
            return unquote(parts.netloc) or None
        case _:
            return None


def resolve(target: Target) -> Address:
    """Return the first numeric address, IPv6 or IPv4, that takes a connection; the first of all where none does.

    With a proxy it is the proxy's: the server's name is left to it.

    Raises:
        InputError: the name has no address.
    """
    if target.socket_path is not None:
        return Address(target.socket_path, 0, socket.AF_UNIX)
    host, port = (target.host, target.port) if target.proxy is None else (target.proxy.host, target.proxy.port)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        whose = "host" if target.proxy is None else "the proxy"
        raise InputError(f"no address for {whose} {host!r}: {error}; check the URL") from error
    addresses = [Address(str(entry[4][0]), port, entry[0]) for entry in found]
    return next(filter(_takes_connection, addresses), addresses[0])


def _takes_connection(address: Address) -> bool:
    try:
        with socket.create_connection((address.host, address.port), timeout=PROBE_TIMEOUT_S):
            return True
    except OSError:
        return False
