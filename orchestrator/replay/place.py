"""Where a base URL leads, and a blocking connection there: for questions outside the measured path."""

import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from orchestrator.domain.errors import InputError
from orchestrator.replay.proxy import TUNNEL_TIMEOUT_S, Proxy, ProxyError, Tunnel, proxy_to, spell_authority
from orchestrator.replay.redaction import refuse_credentials

TIMEOUT_S = 10.0
PIECE_BYTES = 1 << 12
DEFAULT_PORTS = {"http": 80, "https": 443}
UNIX_SCHEMES = ("unix", "http+unix")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a base URL leads: a host and port, by way of a proxy or not, or the path of a Unix socket."""

    host: str
    port: int
    prefix: str
    tls: ssl.SSLContext | None = None
    socket_path: str | None = None
    proxy: Proxy | None = None

    @property
    def host_header(self) -> str:
        """Return the value of the `Host` header."""
        return self.host if self.socket_path is not None else spell_authority(self.host, self.port)

    @property
    def reader(self) -> Proxy | None:
        """Return the proxy where it reads the requests; in a tunnel it does not."""
        return None if self.tls else self.proxy

    def named(self, path: str) -> str:
        """Return what a request line names: the path, or for a proxy the whole address."""
        whole = f"{self.prefix}{path}"
        return whole if self.reader is None else f"http://{self.host_header}{whole}"


def parse_place(base_url: str, proxy: str | None = None) -> Place:
    """Take a base URL apart, and the address of the proxy that leads there.

    Raises:
        InputError: it is no http, https or unix address, or the proxy is of no use.
    """
    refuse_credentials(base_url)
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{base_url!r} is no usable address: {error}") from error
    if parts.scheme in UNIX_SCHEMES:
        path = unquote(parts.netloc) if parts.scheme == "http+unix" else parts.path
        prefix = parts.path.rstrip("/") if parts.scheme == "http+unix" else ""
        return Place("localhost", 0, prefix, socket_path=path, proxy=proxy_to(proxy, socket_path=path))
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise InputError(f"expected a URL such as http://127.0.0.1:8000, seen {base_url!r}")
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    port, prefix = port or DEFAULT_PORTS[parts.scheme], parts.path.rstrip("/")
    return Place(parts.hostname, port, prefix, tls, proxy=proxy_to(proxy, socket_path=None))


def connect(place: Place) -> socket.socket:
    """Connect and return the socket, with TLS where the place asks for it.

    Raises:
        ProxyError: the proxy leads nowhere.
        OSError: nobody takes the connection, not within ten seconds, or its certificate is not trusted.
    """
    if place.proxy is not None:
        connection = _connect_to(place.proxy)
    elif place.socket_path is None:
        connection = socket.create_connection((place.host, place.port), timeout=TIMEOUT_S)
    else:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if place.socket_path is not None:
            connection.settimeout(TIMEOUT_S)
            connection.connect(place.socket_path)
        if place.proxy is not None and place.tls is not None:
            _open(Tunnel(place.proxy, place.host, place.port), connection)
        return connection if place.tls is None else place.tls.wrap_socket(connection, server_hostname=place.host)
    except BaseException:
        connection.close()
        raise


def _connect_to(proxy: Proxy) -> socket.socket:
    try:
        return socket.create_connection((proxy.host, proxy.port), timeout=TIMEOUT_S)
    except OSError as error:
        raise ProxyError(f"the proxy {proxy.authority} takes no connection: {error}") from error


def _open(tunnel: Tunnel, connection: socket.socket) -> None:
    deadline_s = time.monotonic() + TUNNEL_TIMEOUT_S
    try:
        connection.sendall(tunnel.request)
        while not tunnel.is_open:
            connection.settimeout(max(0.001, deadline_s - time.monotonic()))
            tunnel.take(connection.recv(PIECE_BYTES))
    except TimeoutError as error:
        raise ProxyError(f"the proxy did not answer CONNECT within {TUNNEL_TIMEOUT_S:g} s") from error
    connection.settimeout(TIMEOUT_S)
