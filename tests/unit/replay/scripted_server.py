"""A tiny scripted HTTP server on a thread of its own: each test says what a connection does after a request."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from adapters.openai import Dialect, encode_request
from orchestrator.domain.endpoint import Endpoint
from orchestrator.replay import PreparedRequest

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def event(text: str = "a", **more: object) -> bytes:
    row = {"choices": [{"index": 0, "text": text, "finish_reason": None}], **more}
    return b"data: " + json.dumps(row).encode() + b"\n\n"


def stream(*pieces: bytes, done: bytes = b"data: [DONE]\n\n") -> bytes:
    return HEAD + b"".join(map(chunked, (*pieces, done))) + END


@dataclass
class Call:
    """One request as the server saw it; `number` counts requests, `use` those of its connection."""

    number: int
    use: int
    head: bytes
    body: bytes
    writer: asyncio.StreamWriter


Script = Callable[[Call], Awaitable[bool | None]]


@dataclass
class Server:
    """`calls` in order of arrival, `peak` of requests open at once, `connections` accepted."""

    port: int = 0
    calls: list[Call] = field(default_factory=list)
    open_now: int = 0
    peak: int = 0
    connections: int = 0

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(f"http://127.0.0.1:{self.port}", "m", key="s3cret-key")


@contextmanager
def serving(script: Script, **listen: object) -> Iterator[Server]:
    """Serve on a free port; a script that returns True has its connection kept, else it is closed."""
    server = Server()
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    stop = asyncio.Event()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await exchanges(reader, writer)
        writer.transport.abort()

    async def exchanges(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        use, is_kept = 0, True
        while is_kept:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
            body = await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
            server.open_now += 1
            server.peak = max(server.peak, server.open_now)
            use += 1
            call = Call(len(server.calls), use, head, body, writer)
            server.calls.append(call)
            try:
                is_kept = bool(await script(call))
                await writer.drain()
            finally:
                server.open_now -= 1
        writer.close()
        await writer.wait_closed()

    async def main() -> None:
        listening = await asyncio.start_server(connection, listen.pop("host", "127.0.0.1"), 0, **listen)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        listening.close()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(5)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(5)


async def answer(call: Call) -> bool:
    """Answer with two tokens and their usage, and keep the connection."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    last = {"choices": [], "usage": usage}
    call.writer.write(stream(event("a"), event("b"), b"data: " + json.dumps(last).encode() + b"\n\n"))
    return True


def prepared(count: int, *, gap_s: float = 0.0, dialect: Dialect | None = None) -> tuple[PreparedRequest, ...]:
    body = encode_request("one two three", "m", dialect=dialect or Dialect(), max_tokens=2)
    return tuple(PreparedRequest(index, round(index * gap_s * 1e9), body, 3, 2) for index in range(count))
