"""A tiny forward proxy on a thread of its own: whole addresses and CONNECT, every name led to one port."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

REFUSAL = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"
PIECE_BYTES = 1 << 16


@dataclass
class ForwardProxy:
    """`authorization` is what its own header must say; `heads` came one a request, `tunnelled` came inside tunnels."""

    to_port: int
    authorization: str | None = None
    is_silent: bool = False
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    tunnelled: bytearray = field(default_factory=bytearray)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def run(self, ready: threading.Event) -> None:
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await self.stop.wait()
        listening.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                head = await self._read_head(reader)
                if self.is_silent:
                    await self.stop.wait()
                elif self._is_allowed(head):
                    await self._lead(head, reader, writer)
                else:
                    writer.write(REFUSAL)
                    await writer.drain()
            finally:
                writer.close()

    async def _read_head(self, reader: asyncio.StreamReader) -> bytes:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        return self.heads[-1]

    def _is_allowed(self, head: bytes) -> bool:
        return self.authorization is None or f"\r\nProxy-Authorization: {self.authorization}\r\n".encode() in head

    async def _lead(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to_port)
        is_tunnel = head.startswith(b"CONNECT ")
        if is_tunnel:
            writer.write(OPENED)
        up = self._tunnel(reader, far_writer) if is_tunnel else self._requests(head, reader, far_writer)
        ways = [asyncio.ensure_future(up), asyncio.ensure_future(_pump(far_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _tunnel(self, reader: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
        while data := await reader.read(PIECE_BYTES):
            self.tunnelled.extend(data)
            far.write(data)

    async def _requests(self, head: bytes, reader: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
        while True:
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
            body = await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
            far.write(_in_own_form(head) + body)
            head = await self._read_head(reader)


@contextmanager
def forwarding(to_port: int, *, authorization: str | None = None, is_silent: bool = False) -> Iterator[ForwardProxy]:
    """Forward whatever is asked to one local port, or take it and say nothing."""
    proxy, ready = ForwardProxy(to_port, authorization, is_silent), threading.Event()
    loop = asyncio.new_event_loop()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(proxy.run(ready))

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(5)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(proxy.stop.set)
        thread.join(5)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(PIECE_BYTES):
        writer.write(data)
        await writer.drain()


def _in_own_form(head: bytes) -> bytes:
    """Return a head with the path alone, as a server wants it, and without what only the proxy may read."""
    line, *headers = head.split(b"\r\n")
    method, address, version = line.split(b" ")
    assert address.startswith(b"http://")
    path = b"/" + address.removeprefix(b"http://").partition(b"/")[2]
    kept = [one for one in headers if not one.lower().startswith(b"proxy-")]
    return b"\r\n".join([b" ".join([method, path, version]), *kept])
