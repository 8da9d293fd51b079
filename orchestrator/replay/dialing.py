"""Opens a connection to where requests go, on the fastest path that leads there."""

import asyncio
import socket

from orchestrator.replay.connection import Connection
from orchestrator.replay.target import Address, Target
from orchestrator.replay.wire import Wires


async def dial(target: Target, address: Address, connection: Connection, wires: Wires | None) -> Connection:
    """Connect and return the connection; without `wires`, and for TLS, over the event loop's own transport.

    Raises:
        OSError: nobody takes the connection, or its certificate is not trusted.
    """
    connected = socket.socket(address.family, socket.SOCK_STREAM)
    connected.setblocking(False)
    try:
        if address.family != socket.AF_UNIX:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connected, address.socket_address)
        if wires is not None and target.tls is None:
            connection.connected(wires.open(connected, connection))
        else:
            await loop.create_connection(
                lambda: connection, sock=connected, ssl=target.tls, server_hostname=target.server_name
            )
    except BaseException:
        connected.close()
        raise
    return connection
