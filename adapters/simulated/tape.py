"""A body played as it was recorded or made up, byte for byte, cut wherever wanted: what no engine says by itself."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

from adapters.simulated.connection import EVENT_STREAM, Connection
from adapters.simulated.dialect import Generation
from adapters.simulated.engine import Engine
from adapters.simulated.send_log import Outcome, SendRecord

FULL_PAUSE_NS = 1_000_000
BREATH_NS = 50_000


@dataclass(frozen=True, slots=True)
class Tape:
    """A body and how it is sent: in HTTP chunks of one size, those in writes of another, `gap_ns` between writes.

    A size of 0 is the whole. `is_cut` closes the connection in place of the body's end, `is_endless` begins again.
    """

    body: bytes
    content_type: str = EVENT_STREAM
    http_chunk_bytes: int = 0
    write_bytes: int = 0
    ttft_ns: int = 0
    gap_ns: int = 0
    is_cut: bool = False
    is_endless: bool = False


class Piece(NamedTuple):
    """Bytes of one write, and how many bytes of the body have gone with it."""

    data: bytes
    body_bytes: int


def pieces(tape: Tape) -> Iterator[Piece]:
    """Frame a tape's body once as HTTP chunks and cut them into writes, without the chunk that ends a body."""
    size = tape.http_chunk_bytes or len(tape.body)
    raw, is_body = bytearray(), bytearray()
    for start in range(0, len(tape.body), size or 1):
        data = tape.body[start : start + size]
        head = b"%x\r\n" % len(data)
        raw += head + data + b"\r\n"
        is_body += bytes(len(head)) + b"\x01" * len(data) + bytes(2)
    step, gone = tape.write_bytes or len(raw), 0
    for start in range(0, len(raw), step or 1):
        gone += sum(is_body[start : start + step])
        yield Piece(bytes(raw[start : start + step]), gone)


class TapeReply:
    """Plays one tape over one connection."""

    def __init__(
        self, generation: Generation, tape: Tape, *, engine: Engine, peer: Connection, record: SendRecord
    ) -> None:
        self.record = record
        self.prompt = generation.prompt
        self._tape = tape
        self._engine = engine
        self._peer = peer
        found = tuple(pieces(tape))
        self._pieces = cycle(found) if tape.is_endless else iter(found)

    def start(self) -> None:
        """Send the headers and join the queue."""
        self._peer.on_lost = lambda: self._leave("client_gone")
        self._peer.start_stream(self._tape.content_type)
        self._engine.submit(self)

    def admit(self, admitted_ns: int) -> None:
        """Begin to run; times count from `admitted_ns`."""
        self._schedule(admitted_ns + self._tape.ttft_ns)

    def _schedule(self, due_ns: int) -> None:
        self._entry = self._engine.due.call_at(due_ns, lambda: self._step(due_ns))

    def _step(self, due_ns: int) -> None:
        if self._peer.is_full:
            self._schedule(time.monotonic_ns() + FULL_PAUSE_NS)
            return
        piece = next(self._pieces, None)
        if piece is None:
            self._end()
            return
        if not self._tape.is_endless:
            self._note(due_ns, piece)
        self._peer.write_raw(piece.data)
        due_ns += self._tape.gap_ns
        # what is endless must leave the event loop turns of its own, or the server would not hear that a client left
        self._schedule(max(due_ns, time.monotonic_ns() + BREATH_NS) if self._tape.is_endless else due_ns)

    def _note(self, due_ns: int, piece: Piece) -> None:
        self.record.due_ns.append(due_ns)
        self.record.chunk_tokens.append(0)
        self.record.body_bytes.append(piece.body_bytes)
        self.record.sent_ns.append(time.monotonic_ns())

    def _end(self) -> None:
        if self._tape.is_cut:
            self._peer.close()
        else:
            self._peer.end_stream()
        self._leave("cut" if self._tape.is_cut else "completed")

    def _leave(self, outcome: Outcome) -> None:
        self._entry.cancel()
        self.record.outcome = outcome
        self._engine.leave(self)
