"""A relay that spoils a stream on its way: holds it until it ends, or lets every piece of it come late.

`python -m tests.ruler.relay PORT [--hold] [--late-ms N]`; one exchange at a time on a connection, as our client does.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from typing import cast

import uvloop

END = b"0\r\n\r\n"


class Side(asyncio.Protocol):
    """One connection of a pair: what comes is handed on, an end ends both."""

    def __init__(self, hand_on: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._hand_on = hand_on
        self._end = end
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.writelines(self._early)

    def data_received(self, data: bytes) -> None:
        self._hand_on(data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._end()

    def write(self, data: bytes) -> None:
        if self._transport is None:
            self._early.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Pair:
    """A client's connection and ours to the server behind it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, port: int, *, holds: bool, late_s: float) -> None:
        self._loop = loop
        self._holds, self._late_s, self._held = holds, late_s, b""
        self.client = Side(self._ask, self._end)
        self._server = Side(self._answer, self._end)
        self._opening = loop.create_task(loop.create_connection(lambda: self._server, "127.0.0.1", port))

    def _ask(self, data: bytes) -> None:
        self._server.write(data)

    def _answer(self, data: bytes) -> None:
        self._held += data
        if not self._holds or self._held.endswith(END):
            self._loop.call_later(self._late_s, self.client.write, self._held)
            self._held = b""

    def _end(self) -> None:
        self.client.close()
        self._server.close()


async def main(port: int, *, holds: bool, late_s: float) -> None:
    loop = asyncio.get_running_loop()
    make = lambda: Pair(loop, port, holds=holds, late_s=late_s).client  # noqa: E731 - a factory in one line
    server = await loop.create_server(make, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"relay: listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--hold", action="store_true")
    parser.add_argument("--late-ms", type=float, default=0.0)
    given = parser.parse_args()
    uvloop.run(main(given.port, holds=given.hold, late_s=given.late_ms / 1000))
