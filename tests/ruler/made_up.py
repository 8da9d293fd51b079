"""The fifty healthy set-ups on simulated time: what a punctual client writes down of each server; neither is run.

Servers keep to the pacing of the simulated engine; the client and the way to it are late by what a quiet machine shows.
"""

import heapq
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from adapters.simulated import options as flags
from adapters.simulated.script import Pacing, Script, chunks, load
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord, Window
from orchestrator.domain.telemetry import Series, Telemetry
from tests.ruler.healthy import CLOSED_USERS, SERVERS, flags_of
from tests.ruler.loads import NS_PER_S, OPEN

MS = 1_000_000
WARMUP_S, MEASURE_S = 1.0, 5.0
TOKENS = 16
SCRAPE_EVERY_NS = 100 * MS
FAILURES = {
    "status": RequestFailure.HTTP_STATUS,
    "cut": RequestFailure.CUT_STREAM,
    "hang_after_headers": RequestFailure.TIMEOUT,
}


@dataclass(slots=True)
class Made:
    """One set-up while it is made up; `ttfts_ns` are the engine's own, by when it had the first token."""

    options: flags.Options
    script: Script
    timeout_ns: int
    rng: np.random.Generator
    running: list[int]
    ttfts_ns: list[tuple[int, int]]

    def late_ns(self, count: int) -> np.ndarray:
        """Draw latenesses: a tenth of a millisecond as a rule, some milliseconds now and then."""
        late_ms = self.rng.gamma(2, 0.05, count) + 4 * (self.rng.random(count) < 0.003)
        return np.round(late_ms * MS).astype(np.int64)

    def answer(self, index: int, intended_ns: int) -> RequestRecord:
        """Send one request and write down what came of it."""
        sending_ns, asking_ns, *reading_ns = self.late_ns(2 + TOKENS).tolist()
        dispatched_ns = intended_ns + sending_ns
        sent_ns = dispatched_ns + 20_000
        received_ns = sent_ns + asking_ns
        pacing = self.script.pacing(index, None)
        times_ns, carried = self._made(pacing, self._admitted_ns(received_ns))
        if times_ns:
            self.ttfts_ns.append((times_ns[0], times_ns[0] - received_ns))
        seen_ns = list(accumulate(map(sum, zip(times_ns, reading_ns, strict=False)), max))
        failure = FAILURES[pacing.failure.kind] if pacing.failure else None
        end_ns = sent_ns + self.timeout_ns if failure is RequestFailure.TIMEOUT else max([received_ns, *seen_ns])
        heapq.heappush(self.running, end_ns)
        return RequestRecord(
            index=index,
            intended_ns=intended_ns,
            dispatched_ns=dispatched_ns,
            sent_ns=sent_ns,
            chunk_ns=array("q", seen_ns),
            end_ns=end_ns,
            input_tokens=40,
            output_tokens_asked=TOKENS,
            output_tokens_server=None if failure else TOKENS,
            output_tokens_client=sum(carried) if self.options.tokens_per_chunk == 1 else len(carried),
            finish_reason=None if failure else "length",
            failure=failure,
        )

    def _admitted_ns(self, received_ns: int) -> int:
        """Wait for a place among those that run."""
        while self.running and self.running[0] <= received_ns:
            heapq.heappop(self.running)
        most = self.options.max_running
        if most is None or len(self.running) < most:
            return received_ns
        return max(received_ns, heapq.heappop(self.running))

    def _made(self, pacing: Pacing, admitted_ns: int) -> tuple[list[int], list[int]]:
        """Return when each chunk was made and its tokens, up to where the answer failed."""
        slowed = 1 + self.options.slowdown_per_running * len(self.running)
        times_ns, carried = [], []
        for chunk in chunks(pacing, TOKENS):
            if pacing.failure and (pacing.failure.kind == "status" or sum(carried) >= pacing.failure.after_tokens):
                break
            admitted_ns += round(chunk.gap_ns * slowed)
            times_ns.append(admitted_ns)
            carried.append(chunk.tokens)
        return times_ns, carried


def made_up(name: str, kind: str, folder: Path, seed: int) -> tuple[ReplayLog, Telemetry]:
    """Make up one set-up's log and the engine's own histogram beside it."""
    server, options = SERVERS[name], flags.parse(list(flags_of(name, folder)))
    made = Made(options, load(options), round(server.timeout_s * NS_PER_S), np.random.default_rng(seed), [], [])
    records = tuple(_closed(made) if kind == "closed" else _open(made, kind))
    window = Window(round(WARMUP_S * NS_PER_S), round((WARMUP_S + MEASURE_S) * NS_PER_S))
    log = ReplayLog(
        load=ClosedLoad(users=CLOSED_USERS) if kind == "closed" else OpenLoad(rate_rps=OPEN[kind][0]),
        records=records,
        started_ns=0,
        window=window,
        drained_ns=max(one.end_ns for one in records),
        loop_lag_ns=array("q", made.late_ns(round(MEASURE_S * 100)).tolist()),
        client_cpu_ratio=0.1,
    )
    return log, _scraped(made, window)


def _open(made: Made, kind: str) -> Iterator[RequestRecord]:
    for index, offset_s in enumerate(OPEN[kind][1](WARMUP_S + MEASURE_S, made.rng)):
        yield made.answer(index, round(offset_s * NS_PER_S))


def _closed(made: Made) -> Iterator[RequestRecord]:
    free_ns = [user * MS for user in range(CLOSED_USERS)]
    end_ns, index = round((WARMUP_S + MEASURE_S) * NS_PER_S), 0
    while (intended_ns := heapq.heappop(free_ns)) < end_ns:
        record = made.answer(index, intended_ns)
        heapq.heappush(free_ns, record.end_ns + (100 * MS if record.failure else 0))
        index += 1
        yield record


def _scraped(made: Made, window: Window) -> Telemetry:
    times_ns = np.arange(0, window.end_ns + NS_PER_S, SCRAPE_EVERY_NS)
    made_ns = np.array(sorted(made.ttfts_ns))
    count = np.searchsorted(made_ns[:, 0], times_ns, side="right")
    total_s = np.concatenate([[0.0], np.cumsum(made_ns[:, 1] / NS_PER_S)])[count]
    series = (
        Series("engine_ttft.sum", "seconds", times_ns, total_s),
        Series("engine_ttft.count", "observations", times_ns, count.astype(np.float64)),
    )
    return Telemetry(series, SCRAPE_EVERY_NS / NS_PER_S)
