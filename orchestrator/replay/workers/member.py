"""One load worker as the coordinator knows it: what it was given, what came back, how its clock differs.

Decides nothing about the replay; speaks through its channel only.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any

from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.load import ClosedLoad, OfferedLoad
from orchestrator.domain.records import WorkerReport
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.record_rows import DISPATCHED_NS, INDEX, Row, shifted
from orchestrator.replay.workers.channel import Channel, Launch
from orchestrator.replay.workers.wire import Frames, Kind, read, spell

PINGS = 8
PING_LIMIT_S = 5.0
REFUSALS = {one.__name__: one for one in (InputError, MeasurementRefusedError)}

Given = tuple[int, int | None, int | None]  # offset_ns, input_tokens, output_tokens_asked


class Member:
    """A load worker. `outstanding` holds what it was given and has not answered for, in order of time.

    `clock_offset_ns` is its clock less ours. `facts` is its log without records, None before its end.
    """

    def __init__(
        self, name: str, load: OfferedLoad, on_row: Callable[[Row], None], now: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.name = name
        self.load = load
        self.outstanding: dict[int, Given] = {}
        self.num_records = 0
        self.is_ready = False
        self.is_lost = False
        self.facts: dict[str, Any] | None = None
        self.refusal: Exception | None = None
        self.failure: str | None = None
        self.clock_offset_ns = 0
        self.clock_error_ns = 0
        self._pid, self._host = 0, ""
        self._first_offset_ns: int | None = None
        self._first_dispatched_ns: int | None = None
        self._frames = Frames()
        self._on_row = on_row
        self._now = now
        self._heard_ns = now()
        self._pong: asyncio.Future[tuple[int, int]] | None = None
        self._channel: Channel | None = None
        self._end: str | None = None

    @property
    def is_over(self) -> bool:
        """Say whether nothing more is to be expected of it."""
        return self.facts is not None or self.refusal is not None or self.failure is not None

    @property
    def oldest_offset_ns(self) -> int | None:
        """Return when the first request that it has not answered for is due after the start, None where none is."""
        return next(iter(self.outstanding.values()))[0] if self.outstanding else None

    def count_due(self, at_ns: int) -> int:
        """Count its requests on their way `at_ns` after the start: what was due and has no record."""
        if self.users:
            return min(self.users, len(self.outstanding))
        return sum(1 for _ in takewhile(lambda one: one[0] <= at_ns, self.outstanding.values()))

    @property
    def users(self) -> int:
        """Return its users, 0 in an open loop."""
        return self.load.users if isinstance(self.load, ClosedLoad) else 0

    async def launch(self, launch: Launch, order: bytes) -> None:
        """Start the worker and tell it what to do."""
        self._channel = await launch(self.name, self._heard, self._gone)
        self.send(order)

    def send(self, data: bytes) -> None:
        """Send frames to the worker."""
        if self._channel is not None and not self.is_lost:
            self._channel.send(data)

    def give(self, requests: Iterable[PreparedRequest]) -> None:
        """Give it requests, in order of time."""
        rows = []
        for one in requests:
            self.outstanding[one.index] = (one.offset_ns, one.input_tokens, one.output_tokens_asked)
            if self._first_offset_ns is None:
                self._first_offset_ns = one.offset_ns
            rows.append((one.index, one.offset_ns, one.body, one.input_tokens, one.output_tokens_asked))
        if rows:
            self.send(spell(Kind.REQUESTS, rows))

    async def set_clock(self) -> None:
        """Measure the worker's clock against ours; its records are translated by that.

        Raises:
            MeasurementRefusedError: it does not answer.
        """
        try:
            self.clock_offset_ns, self.clock_error_ns = await self._compare_clocks()
        except OSError as error:
            raise MeasurementRefusedError(f"{self.name} did not tell its time: {error!r}") from error

    async def check_clock(self) -> None:
        """Measure again; what the clocks moved apart since is an error of every time in between."""
        try:
            offset_ns, error_ns = await self._compare_clocks()
        except OSError as error:
            self.failure = f"it did not tell its time after the replay: {error!r}"
        else:
            self.clock_error_ns = max(self.clock_error_ns, error_ns, abs(offset_ns - self.clock_offset_ns))

    async def _compare_clocks(self) -> tuple[int, int]:
        """Return the worker's clock less ours and the error of that, nanoseconds, from the fastest of some round trips.

        Half the round trip is the most that the estimate can be off, however unequal the ways there and back: Cristian
        (1989), Probabilistic clock synchronization, Distributed Computing 3. An offset within its error is none.
        """
        trips = [await self._ping() for _ in range(PINGS)]
        sent_ns, there_ns, received_ns = min(trips, key=lambda one: one[2] - one[0])
        offset_ns, error_ns = there_ns - (sent_ns + received_ns) // 2, (received_ns - sent_ns + 1) // 2
        return (0 if abs(offset_ns) <= error_ns else offset_ns), error_ns

    async def _ping(self) -> tuple[int, int, int]:
        if self.is_lost:
            raise ConnectionError(f"{self.name} is gone")
        self._pong = asyncio.get_running_loop().create_future()
        sent_ns = self._now()
        self.send(spell(Kind.PING))
        async with asyncio.timeout(PING_LIMIT_S):
            return sent_ns, *await self._pong

    async def close(self, *, kill: bool = False) -> None:
        """End the worker's process."""
        if self._channel is not None:
            channel, self._channel = self._channel, None
            self._end = await channel.close(kill=kill)

    async def lose(self, reason: str) -> None:
        """Give the worker up: end it, and say why and how it ended."""
        self.failure = reason
        await self.close(kill=True)
        if self._end is not None:
            self.failure = f"{reason} ({self._end})"

    def report(self, start_ns: int) -> WorkerReport:
        """Return what is said of the worker beside the records; `start_ns` is the common start on our clock."""
        late_ns = 0
        if self._first_dispatched_ns is not None:
            due_ns = start_ns + (0 if self.users else self._first_offset_ns or 0)
            late_ns = max(0, self._first_dispatched_ns - due_ns)
        return WorkerReport(
            name=self.name,
            host=self._host,
            pid=self._pid,
            num_requests=self.num_records,
            cpu_ratio=None if self.facts is None else self.facts["client_cpu_ratio"],
            late_ns=late_ns,
            clock_offset_ns=self.clock_offset_ns,
            clock_error_ns=self.clock_error_ns,
            failure=self.failure,
        )

    def silent_ns(self, now_ns: int) -> int:
        """Return how long it has said nothing."""
        return now_ns - self._heard_ns

    def _heard(self, data: bytes) -> None:
        self._heard_ns = self._now()
        for kind, payload in self._frames.cut(data):
            if kind == Kind.RECORD:
                self._take_row(read(payload))
            else:
                self._take_word(kind, read(payload))

    def _take_row(self, row: Row) -> None:
        if self.clock_offset_ns:
            row = shifted(row, -self.clock_offset_ns)
        self.outstanding.pop(row[INDEX], None)
        self.num_records += 1
        first_ns = self._first_dispatched_ns
        self._first_dispatched_ns = row[DISPATCHED_NS] if first_ns is None else min(first_ns, row[DISPATCHED_NS])
        self._on_row(row)

    def _take_word(self, kind: int, value: Any) -> None:  # noqa: ANN401 - any plain value
        match kind:
            case Kind.PONG:
                if self._pong is not None and not self._pong.done():
                    self._pong.set_result((value, self._now()))
            case Kind.READY:
                self._pid, self._host = value
                self.is_ready = True
            case Kind.LOG:
                self.facts = value
            case Kind.REFUSED:
                name, text = value
                self.refusal = REFUSALS[name](text)
            case _:
                raise ValueError(f"expected a frame of a load worker, seen kind {kind}")

    def _gone(self) -> None:
        self.is_lost = True
        if self._pong is not None and not self._pong.done():
            self._pong.set_exception(ConnectionError(f"{self.name} is gone"))
