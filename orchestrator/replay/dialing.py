"""Opens a connection to where requests go, on the fastest path that leads there."""

import asyncio
import socket

from orchestrator.replay.connection import Connection
from orchestrator.replay.proxy import TUNNEL_TIMEOUT_S, ProxyError, Tunnel
from orchestrator.replay.target import Address, Target
from orchestrator.replay.wire import Wires

PIECE_BYTES = 1 << 12


async def dial(target: Target, address: Address, connection: Connection, wires: Wires | None) -> Connection:
    """Connect and return the connection; without `wires`, and for TLS, over the event loop's own transport.

    Through a proxy, TLS begins inside a tunnel; anything else is only another address.

    Raises:
        OSError: nobody takes the connection, the proxy refuses, or the certificate is not trusted.
    """
    connected = socket.socket(address.family, socket.SOCK_STREAM)
    connected.setblocking(False)
    try:
        if address.family != socket.AF_UNIX:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await _reach(target, address, connected)
        loop = asyncio.get_running_loop()
        if wires is not None and target.tls is None:
            connection.connected(wires.open(connected, connection))
        else:
            if target.tls is not None and target.proxy is not None:
                await _open(Tunnel(target.proxy, target.host, target.port), connected)
            await loop.create_connection(
                lambda: connection, sock=connected, ssl=target.tls, server_hostname=target.server_name
            )
    except BaseException:
        connected.close()
        raise
    return connection


async def _reach(target: Target, address: Address, connected: socket.socket) -> None:
    try:
        await asyncio.get_running_loop().sock_connect(connected, address.socket_address)
    except OSError as error:
        if target.proxy is None:
            raise
        why = f"the proxy {target.proxy.authority} takes no connection: {error.strerror}"
        raise ProxyError(error.errno, why) from error


async def _open(tunnel: Tunnel, connected: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(TUNNEL_TIMEOUT_S):
            await loop.sock_sendall(connected, tunnel.request)
            while not tunnel.is_open:
                tunnel.take(await loop.sock_recv(connected, PIECE_BYTES))
    except TimeoutError as error:
        raise ProxyError(f"the proxy did not answer CONNECT within {TUNNEL_TIMEOUT_S:g} s") from error
