"""A load worker's ends of its pipe: requests and orders in, records out.

Two threads read and write, so that the event loop which sends never waits for the pipe, and a full pipe only makes
records wait in memory. Threads hold the interpreter for some tens of microseconds at a time.
"""

import contextlib
import marshal
import os
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator.domain.records import RequestRecord
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.record_rows import to_row
from orchestrator.replay.workers.order import Order, read_order
from orchestrator.replay.workers.wire import HEAD, Frames, Kind, read, spell

READ_BYTES = 65_536
TAKEN_AT_ONCE = 128
FLUSH_S = 0.02
WRITTEN_AT_ONCE = 256
ORPHANED = 70


def _leave() -> None:
    """End this process at once, from whatever thread: no clean-up is worth a load that nobody asked for."""
    os._exit(ORPHANED)


class Outbox:
    """Takes records on the event loop and writes them from a thread of its own."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._frames: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._write_on, name="outbox", daemon=True)
        self._thread.start()

    def put(self, record: RequestRecord) -> None:
        """Take a record."""
        payload = marshal.dumps(to_row(record))
        self._frames.append(HEAD.pack(len(payload), Kind.RECORD) + payload)

    def say(self, kind: Kind, value: Any = None) -> None:  # noqa: ANN401 - any plain value
        """Write one frame at once; not for the event loop."""
        with self._lock:
            self._sock.sendall(spell(kind, value))

    def flush(self) -> None:
        """Write what is left and end the thread."""
        self._is_closed.set()
        self._thread.join()

    def _write_on(self) -> None:
        with contextlib.suppress(ConnectionError):  # the inbox sees that end too, and ends the process
            while not self._is_closed.wait(FLUSH_S):
                self._write()
            self._write()

    def _write(self) -> None:
        frames = self._frames
        while frames:
            block = b"".join(frames.popleft() for _ in range(min(len(frames), WRITTEN_AT_ONCE)))
            with self._lock:
                self._sock.sendall(block)


class Inbox:
    """Reads orders and requests from a thread of its own; feeds a session and says when the whole load is given up.

    Ends the process when the coordinator is gone: nobody would take the records.
    """

    def __init__(
        self,
        sock: socket.socket,
        outbox: Outbox,
        *,
        now: Callable[[], int] = time.monotonic_ns,
        on_gone: Callable[[], None] = _leave,
    ) -> None:
        self.stop = threading.Event()
        self._sock = sock
        self._outbox = outbox
        self._now = now
        self._on_gone = on_gone
        self._requests: deque[PreparedRequest] = deque()
        self._has_all = False
        self._reason: str | None = None
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._starts: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._dismissed = threading.Event()
        threading.Thread(target=self._read_on, name="inbox", daemon=True).start()

    @property
    def is_whole(self) -> bool:
        """Say whether no block will come any more."""
        return self._has_all and not self._requests

    def take(self) -> Sequence[PreparedRequest]:
        """Return some of what has come since the last call; the rest at the next, so that the loop is not held up."""
        requests = self._requests
        return [requests.popleft() for _ in range(min(len(requests), TAKEN_AT_ONCE))]

    def ended(self, *, intended_ns: int, ttft_ns: int | None, end_ns: int) -> None:
        """Note nothing: the coordinator sees every worker's records and decides."""

    def give_up(self, now_ns: int, in_flight: int) -> str | None:  # noqa: ARG002 - the coordinator has decided
        """Return why the coordinator gave the load up, None to go on."""
        return self._reason

    def await_order(self) -> Order:
        """Wait for the order."""
        return self._orders.get()

    def await_start(self) -> int:
        """Wait for the common start, in nanoseconds of this machine's clock."""
        return self._starts.get()

    def await_dismissal(self) -> None:
        """Wait until the coordinator needs nothing more."""
        self._dismissed.wait()

    def _read_on(self) -> None:
        frames = Frames()
        while data := self._receive():
            for kind, payload in frames.cut(data):
                self._take_in(kind, payload)
        self._on_gone()

    def _receive(self) -> bytes:
        try:
            return self._sock.recv(READ_BYTES)
        except ConnectionError:
            return b""

    def _take_in(self, kind: int, payload: bytes) -> None:
        match kind:
            case Kind.REQUESTS:
                self._requests.extend(PreparedRequest(*one) for one in read(payload))
            case Kind.PING:
                self._outbox.say(Kind.PONG, self._now())
            case Kind.ORDER:
                self._orders.put(read_order(payload))
            case Kind.START:
                self._starts.put(read(payload))
            case _:
                self._take_word(kind, payload)

    def _take_word(self, kind: int, payload: bytes) -> None:
        match kind:
            case Kind.WHOLE:
                self._has_all = True
            case Kind.STOP:
                self.stop.set()
            case Kind.GIVE_UP:
                self._reason = read(payload)
            case Kind.DISMISS:
                self._dismissed.set()
            case _:
                raise ValueError(f"expected a frame for a load worker, seen kind {kind}")
