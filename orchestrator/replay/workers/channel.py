"""How the coordinator reaches a load worker: bytes there and back, and an end. The seam that a cluster fills anew."""

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, cast

END_LIMIT_S = 5.0
PROGRAM = ("-m", "orchestrator.replay.workers.worker")

OnBytes = Callable[[bytes], None]
OnLost = Callable[[], None]


class Channel(Protocol):
    """One worker as the coordinator's event loop sees it."""

    def send(self, data: bytes) -> None:
        """Send without waiting; order is kept."""
        ...

    async def close(self, *, kill: bool) -> str | None:
        """End the worker, at once or after what it is at, and say how it ended where that was not well."""
        ...


class Launch(Protocol):
    """Starts load workers, wherever they run."""

    async def __call__(self, name: str, on_bytes: OnBytes, on_lost: OnLost) -> Channel:
        """Start one; `on_bytes` is told what it says, `on_lost` once that it says no more.

        Raises:
            OSError: it cannot be started.
        """
        ...


class ProcessChannel(asyncio.Protocol):
    """A worker that is a child of this process, at the other end of a socket pair."""

    def __init__(self, process: "subprocess.Popen[bytes]", on_bytes: OnBytes, on_lost: OnLost) -> None:
        self.process = process
        self._on_bytes = on_bytes
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Tell the owner."""
        self._on_bytes(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - an end is an end
        """Tell the owner."""
        self._on_lost()

    def send(self, data: bytes) -> None:
        """Send without waiting; order is kept."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def close(self, *, kill: bool) -> str | None:
        """End the worker, at once or after what it is at, and say how it ended where that was not well."""
        if kill:
            self.process.kill()
        code = await asyncio.to_thread(self._wait)
        if self._transport is not None:
            self._transport.abort()
        return _spell_end(code)

    def _wait(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(END_LIMIT_S)
        self.process.kill()
        return self.process.wait()


async def launch_process(
    name: str, on_bytes: OnBytes, on_lost: OnLost, *, program: Sequence[str] = PROGRAM
) -> ProcessChannel:
    """Start a worker on this machine; its standard error is ours. `name` is the coordinator's, for messages."""
    del name
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, *program, str(theirs.fileno())]
        process = subprocess.Popen(  # noqa: S603, ASYNC220 - our own module; starting takes milliseconds
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
    channel = ProcessChannel(process, on_bytes, on_lost)
    await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=ours)
    return channel


def _spell_end(code: int) -> str | None:
    if code == 0:
        return None
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
