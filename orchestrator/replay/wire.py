"""The direct path's sockets: read many at a time from one epoll, written without a layer between.

An event loop's transports cost more for a piece than all else that the client does with it. Linux only; elsewhere, for
TLS and behind proxies that need it, the loop's own transports carry the same `Connection`.
"""

import asyncio
import select
import socket
from collections.abc import Callable
from typing import Protocol

READ_BYTES = 1 << 14
READ_BURST = 64
MESSAGE_END = b"\r\n\r\n"
MAX_PIECES = 64


class Receiver(Protocol):
    """Who takes the pieces that a wire reads; it digests them when it must, not each by itself."""

    pieces: list[bytes]
    times_ns: list[int]
    defers: bool

    def digest(self) -> None:
        """Read what the pieces say."""
        ...

    def connection_lost(self, exc: Exception | None) -> None:
        """Know that no piece will come any more."""
        ...


def is_ripe(receiver: Receiver, data: bytes) -> bool:
    """Say whether the pieces must be digested with this one: it may end the message, or enough have come.

    A chunked message ends with an empty line. Only its last bytes can come in a piece that is shorter than that.
    """
    return (
        not receiver.defers
        or data.endswith(MESSAGE_END)
        or len(data) < len(MESSAGE_END)
        or len(receiver.pieces) >= MAX_PIECES
    )


class Wire:
    """One connected socket, with the part of asyncio's transport that a connection needs."""

    __slots__ = ("_lot", "_socket", "_unsent", "receive", "receiver")

    def __init__(self, lot: "Wires", connected: socket.socket, receiver: Receiver) -> None:
        self.receive = connected.recv
        self.receiver = receiver
        self._lot: Wires | None = lot
        self._socket = connected
        self._unsent = b""

    def write(self, data: bytes) -> None:
        """Send; what the socket does not take at once follows when it does."""
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            self.lose(error)
            return
        if sent < len(data) and self._lot is not None:
            self._unsent = data[sent:]
            self._lot.watch(self._socket, writes=True)

    def flush(self) -> None:
        """Send on what was left."""
        unsent, self._unsent = self._unsent, b""
        if self._lot is not None:
            self._lot.watch(self._socket, writes=False)
        self.write(unsent)

    def is_closing(self) -> bool:
        """Say whether the wire is closed."""
        return self._lot is None

    def abort(self) -> None:
        """Close at once; the receiver is told at the loop's next turn."""
        self.lose(None)

    def lose(self, error: OSError | None) -> None:
        """Close, and tell the receiver why."""
        lot, self._lot = self._lot, None
        if lot is not None:
            lot.drop(self._socket)
            asyncio.get_running_loop().call_soon(self.receiver.connection_lost, error)


class Wires:
    """All wires of one replay; one reader of the event loop stands for all their sockets. Counts when it was called."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], int]) -> None:
        self._loop = loop
        self._now = now
        self.num_reads = 0
        self._wires: dict[int, Wire] = {}
        self._epoll = select.epoll()
        loop.add_reader(self._epoll.fileno(), self._read)

    def open(self, connected: socket.socket, receiver: Receiver) -> Wire:
        """Take over a connected socket that does not block."""
        wire = Wire(self, connected, receiver)
        self._wires[connected.fileno()] = wire
        self._epoll.register(connected.fileno(), select.EPOLLIN)
        return wire

    def watch(self, connected: socket.socket, *, writes: bool) -> None:
        """Watch too, or no longer, for room to write."""
        self._epoll.modify(connected.fileno(), select.EPOLLIN | (select.EPOLLOUT if writes else 0))

    def drop(self, connected: socket.socket) -> None:
        """Forget a socket and close it."""
        del self._wires[connected.fileno()]
        connected.close()

    def close(self) -> None:
        """Read no more."""
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _read(self) -> None:
        """Read each socket once, at most `READ_BURST` of them: what is due to be sent comes in between."""
        self.num_reads += 1
        now, wires = self._now, self._wires
        for descriptor, events in self._epoll.poll(0, READ_BURST):
            wire = wires.get(descriptor)
            if wire is None:  # closed by one that was read before
                continue
            if events & select.EPOLLOUT:
                wire.flush()
            try:
                data = wire.receive(READ_BYTES)
            except (BlockingIOError, InterruptedError):
                continue
            except OSError as error:
                wire.lose(error)
                continue
            received_ns = now()
            if not data:
                wire.lose(None)
                continue
            receiver = wire.receiver
            pieces = receiver.pieces
            pieces.append(data)
            receiver.times_ns.append(received_ns)
            # `is_ripe`, without its call
            if not receiver.defers or data.endswith(MESSAGE_END) or len(data) < 4 or len(pieces) >= MAX_PIECES:  # noqa: PLR2004
                receiver.digest()
