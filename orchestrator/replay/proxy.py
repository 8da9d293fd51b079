"""The proxy that requests are asked to go through: its address, its credentials, the tunnel that leads to a TLS server.

Opens no connection. The environment's proxies count only where somebody asks for them.
"""

import base64
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from orchestrator.domain.errors import InputError

FORM = "http://proxy:3128, or http://user:password@proxy:3128 with special characters as %XX"
HEAD_END = b"\r\n\r\n"
MAX_HEAD_BYTES = 1 << 14
STATUS_LINE_CHARS = 100
TUNNEL_TIMEOUT_S = 10.0
REFUSES_CREDENTIALS = 407


class ProxyError(OSError):
    """The proxy stood in the way: no connection leads to the server."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A forward proxy that is spoken to in plain HTTP; `credentials` are those of a header, and never shown."""

    host: str
    port: int
    credentials: str | None = field(default=None, repr=False)

    @property
    def authority(self) -> str:
        """Return its address, which may be shown."""
        return spell_authority(self.host, self.port)

    @property
    def header_lines(self) -> tuple[str, ...]:
        """Return what only the proxy may read: never sent into a tunnel."""
        return () if self.credentials is None else (f"Proxy-Authorization: Basic {self.credentials}",)


class Tunnel:
    """What is said to open a tunnel to a server, and what came back so far (RFC 9110, 9.3.6)."""

    def __init__(self, proxy: Proxy, host: str, port: int) -> None:
        to = spell_authority(host, port)
        lines = (f"CONNECT {to} HTTP/1.1", f"Host: {to}", *proxy.header_lines)
        self.request = ("\r\n".join(lines) + "\r\n\r\n").encode()
        self.is_open = False
        self._received = b""

    def take(self, piece: bytes) -> None:
        """Read on; the tunnel is open once the proxy has said so.

        Raises:
            ProxyError: it refuses, closes, or says something else.
        """
        if not piece:
            raise ProxyError("the proxy closed the connection before it answered CONNECT")
        self._received += piece
        head, end, rest = self._received.partition(HEAD_END)
        if not end:
            if len(self._received) > MAX_HEAD_BYTES:
                raise ProxyError(f"the proxy's answer to CONNECT has no end within {MAX_HEAD_BYTES} bytes")
            return
        version, _, status_line = _first_line(head).partition(" ")
        if not version.startswith("HTTP/1."):
            raise ProxyError(f"the proxy answered CONNECT with something else than HTTP: {_first_line(head)!r}")
        if not status_line.startswith("2"):
            raise ProxyError(f"the proxy answered {status_line}")
        if rest:
            raise ProxyError(f"the proxy sent {len(rest)} bytes ahead of the server's TLS")
        self.is_open = True


def proxy_to(url: str | None, *, socket_path: str | None) -> Proxy | None:
    """Take the proxy's address apart, where there is one.

    Raises:
        InputError: it is no plain http address, or the server is behind a Unix socket.
    """
    if url is None:
        return None
    if socket_path is not None:
        raise InputError(f"no proxy leads to the Unix socket {socket_path}; leave the proxy out")
    return parse_proxy(url)


def parse_proxy(url: str) -> Proxy:
    """Take a proxy's address apart. No message repeats it, since it may hold a password.

    Raises:
        InputError: it is no plain http address with a port.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # its text repeats parts of the address
        raise InputError(f"expected a proxy such as {FORM}; seen an address that cannot be read") from None
    if parts.scheme != "http" or not host:
        raise InputError(
            f"expected a proxy such as {FORM}; seen no http address: other kinds of proxy are not spoken to"
        )
    if port is None or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise InputError(f"expected a proxy such as {FORM}; seen no port, or more than host and port")
    return Proxy(host, port, _credentials(parts))


def environment_proxy(base_url: str) -> str | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY mean for a server, None where they name none.

    They are read as Python's `urllib.request` reads them; an address without a scheme counts as http.
    """
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - a tenth of a second, for who asks

    try:
        parts = urlsplit(base_url)
    except ValueError:  # said by whoever takes the server's address apart
        return None
    found = getproxies().get(parts.scheme)
    if not found or not parts.netloc or proxy_bypass(parts.netloc):
        return None
    return found if "://" in found else f"http://{found}"


def spell_authority(host: str, port: int) -> str:
    """Return host and port as a URL has them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _credentials(parts: SplitResult) -> str | None:
    """Return user and password as a header carries them (RFC 7617)."""
    if parts.username is None:
        return None
    user, password = unquote(parts.username), unquote(parts.password or "")
    if ":" in user:
        raise InputError("the proxy's user name holds a colon, which cannot be sent")
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def _first_line(head: bytes) -> str:
    line = head.partition(b"\r\n")[0].decode("latin-1")[:STATUS_LINE_CHARS]
    return "".join(one if one.isprintable() else "?" for one in line)
