"""A server that does nothing but answer on time: what the client is held against before it is trusted.

One process, one event loop; every answer is the same bytes, encoded before it starts. It keeps its own record of when
each request came and each chunk went, so that a client's error is told from its own. Runs as a program by its path, so
that it starts in a tenth of a second; speaks with its owner by lines on standard input.
"""

import argparse
import asyncio
import gc
import json
import os
import re
import socket
import sys
import time
from array import array
from collections.abc import Callable
from heapq import heappop, heappush
from typing import cast

from adapters.simulated.due import system_alarm

SLOT_NS = 250_000
READ_BYTES = 4096
HEAD_END = b"\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
NUMBERS = re.compile(
    rb"\r\n(?:x-request-id: \S*?-(?P<index>\d+)|content-length: (?P<length>\d+))(?=\r\n)", re.IGNORECASE
)


class Reply:
    """One answer on its way: which request it belongs to, when that came, when each piece went."""

    __slots__ = ("index", "line", "received_ns", "sent_ns")

    def __init__(self, line: "Line", index: int, received_ns: int) -> None:
        self.line = line
        self.index = index
        self.received_ns = received_ns
        self.sent_ns: array[int] = array("q")


class Server:
    """Sends every reply's pieces at their times; replies that are due in one slot of 0.25 ms go out in one turn.

    A piece's time is read just before its one write.
    """

    def __init__(self, pieces: tuple[bytes, ...], *, ttft_ns: int, itl_ns: int) -> None:
        self._pieces = pieces
        self._ttft_ns = ttft_ns
        self._itl_slots = max(1, round(itl_ns / SLOT_NS))
        self._slots: dict[int, list[Reply]] = {}
        self._order: list[int] = []
        self._alarm = system_alarm(asyncio.get_running_loop(), self._ring)
        self._done: list[Reply] = []

    def submit(self, reply: Reply) -> None:
        """Send the first piece one TTFT after the request came, rounded up to a slot."""
        self._wait(-(-(reply.received_ns + self._ttft_ns) // SLOT_NS), [reply])

    def take(self) -> bytes:
        """Return the record of all whole replies since the last call: a line of JSON, then three arrays of int64.

        They hold each request's index, when it came, and when each of its pieces went, all in the order of ends.
        """
        done, self._done = self._done, []
        facts = {"replies": len(done), "pieces": len(self._pieces), "slot_ns": SLOT_NS}
        facts |= {"ttft_ns": self._ttft_ns, "itl_ns": self._itl_slots * SLOT_NS}
        numbers = array("q", [one.index for one in done])
        numbers.extend(one.received_ns for one in done)
        for one in done:
            numbers.extend(one.sent_ns)
        return json.dumps(facts).encode() + b"\n" + numbers.tobytes()

    def _wait(self, slot: int, replies: list[Reply]) -> None:
        waiting = self._slots.get(slot)
        if waiting is not None:
            waiting += replies
            return
        self._slots[slot] = replies
        heappush(self._order, slot)
        if self._order[0] == slot:
            self._alarm.set(slot * SLOT_NS)

    def _ring(self) -> None:
        order = self._order
        while order and order[0] * SLOT_NS <= time.monotonic_ns():
            slot = heappop(order)
            later = self._send(self._slots.pop(slot))
            if later:
                self._wait(slot + self._itl_slots, later)
        if order:
            self._alarm.set(order[0] * SLOT_NS)

    def _send(self, replies: list[Reply]) -> list[Reply]:
        """Send each reply's next piece and return those that have more; this loop holds what runs for every chunk."""
        now, pieces, last = time.monotonic_ns, self._pieces, len(self._pieces) - 1
        later: list[Reply] = []
        for reply in replies:
            line, sent_ns = reply.line, reply.sent_ns
            if line.fd < 0:  # the client has gone
                continue
            place = len(sent_ns)
            sent_ns.append(now())
            line.write(pieces[place])
            if place < last:
                later.append(reply)
            else:
                self._done.append(reply)
        return later


class Line(asyncio.Protocol):
    """One connection: takes requests one after the other, whole or in pieces."""

    def __init__(self, server: Server) -> None:
        self.fd = -1
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._received_ns = 0
        self._is_clogged = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the descriptor: pieces are written to it without the transport's detour."""
        self._transport = cast("asyncio.Transport", transport)
        self.fd = transport.get_extra_info("socket").fileno()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the descriptor, which the system may give to another connection."""
        del exc
        self.fd = -1

    def data_received(self, data: bytes) -> None:
        """Note when the request's first bytes came and submit its answer when its last are there."""
        if not self._received:
            self._received_ns = time.monotonic_ns()
        self._received += data
        head_bytes = self._received.find(HEAD_END)
        if head_bytes < 0:
            return
        numbers = {
            one.lastgroup: int(one[one.lastgroup or 0]) for one in NUMBERS.finditer(self._received, 0, head_bytes + 2)
        }
        if len(self._received) < head_bytes + len(HEAD_END) + numbers.get("length", 0):
            return
        self._received = b""
        self._server.submit(Reply(self, numbers.get("index", -1), self._received_ns))

    def write(self, piece: bytes) -> None:
        """Write at once; what the socket does not take, and all that follows it, goes the transport's slower way."""
        if self._is_clogged:
            cast("asyncio.Transport", self._transport).write(piece)
            return
        try:
            written = os.write(self.fd, piece)
        except BlockingIOError:
            written = 0
        except OSError:  # the client has closed its end; the transport hears of it too
            return
        if written < len(piece):
            self._is_clogged = True
            cast("asyncio.Transport", self._transport).write(piece[written:])


def encode_pieces(tokens: int) -> tuple[bytes, ...]:
    """Encode an answer of so many tokens: one piece a token, the head before the first, usage and end in the last."""
    pieces = [_http_chunk(_event(index, tokens)) for index in range(tokens)]
    usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
    ending = _http_chunk(_spell({"id": "null", "object": "text_completion", "choices": [], "usage": usage}))
    pieces[0] = HEAD + pieces[0]
    pieces[-1] += ending + _http_chunk(b"data: [DONE]\n\n") + LAST_CHUNK
    return tuple(pieces)


def _event(index: int, tokens: int) -> bytes:
    choice = {"index": 0, "text": " word", "logprobs": None, "finish_reason": "length" if index == tokens - 1 else None}
    return _spell({"id": "null", "object": "text_completion", "created": 0, "model": "null", "choices": [choice]})


def _spell(event: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def serve(tokens: int, *, port: int, ttft_ns: int, itl_ns: int) -> None:
    """Serve on a port of loopback (0: any free one), say which in one line of JSON, obey until standard input ends.

    Several such processes may share a port; the system deals connections out among them.
    """
    loop = asyncio.get_running_loop()
    server = Server(encode_pieces(tokens), ttft_ns=ttft_ns, itl_ns=itl_ns)
    listening = await loop.create_server(
        lambda: Line(server), "127.0.0.1", port, backlog=4096, reuse_port=hasattr(socket, "SO_REUSEPORT") or None
    )
    port = listening.sockets[0].getsockname()[1]
    _say(json.dumps({"port": port}).encode() + b"\n")
    ended = asyncio.Event()
    loop.add_reader(0, _obey, server, ended.set)
    gc.collect()
    gc.freeze()
    gc.disable()
    await ended.wait()


def _obey(server: Server, end: Callable[[], None]) -> None:
    order = os.read(0, READ_BYTES)
    if not order:
        asyncio.get_running_loop().remove_reader(0)
        end()
    for _ in range(order.count(b"take\n")):
        _say(server.take())


def _say(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--ttft-ns", type=int, required=True)
    parser.add_argument("--itl-ns", type=int, required=True)
    asked = parser.parse_args()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(asked.tokens, port=asked.port, ttft_ns=asked.ttft_ns, itl_ns=asked.itl_ns))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    if sys.platform == "win32":
        return asyncio.new_event_loop
    import uvloop  # noqa: PLC0415 - there is none for Windows

    return uvloop.new_event_loop


if __name__ == "__main__":
    main()
