"""One replay against the scripted server, and what the client says of it held against the server's log."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.replay import PreparedRequest, Timing, replay_open
from tests.bench.scripted_server import MODEL, Truth, scripted_server

TTFT_S, ITL_S, OUTPUT_TOKENS = 0.02, 0.005, 16
PROMPT = list(range(32))
WARMUP_S, DRAIN_S, TIMEOUT_S = 1.0, 5.0, 30.0
SERVER_LATE_LIMIT_S = 0.002
ATTEMPTS = 3

Errors = npt.NDArray[np.float64]


class ServerLateError(RuntimeError):
    """The server was late against its own log in every attempt: this machine has no truth to offer."""


@dataclass(frozen=True)
class Played:
    """A replay's log beside the truth; errors are absolute, in seconds, over completed requests of the window."""

    log: ReplayLog
    truth: Truth

    @cached_property
    def issued(self) -> list[RequestRecord]:
        """Return the requests of the window."""
        window = self.log.window
        return [one for one in self.log.records if window.start_ns <= one.intended_ns < window.end_ns]

    @cached_property
    def _pairs(self) -> list[tuple[RequestRecord, int]]:
        rows = self.truth.rows()
        return [(one, rows[one.index]) for one in self.issued if one.failure is None]

    def reported_ttft_s(self) -> Errors:
        """Return TTFT from send, as the client reports it."""
        return _seconds([one.chunk_ns[0] - (one.sent_ns or 0) for one, _ in self._pairs])

    def true_ttft_s(self) -> Errors:
        """Return the time from reading a request to writing its first token, as the server saw it."""
        return _seconds([self.truth.tokens_ns(row)[0] - self.truth.received_ns[row] for _, row in self._pairs])

    def ttft_error_s(self) -> Errors:
        """Return how far each reported TTFT is from the true one."""
        return np.abs(self.reported_ttft_s() - self.true_ttft_s())

    def itl_error_s(self) -> Errors:
        """Return how far each gap between two tokens is from the true one."""
        gaps = [np.diff(np.asarray(one.chunk_ns)) - np.diff(self.truth.tokens_ns(row)) for one, row in self._pairs]
        return np.abs(np.concatenate(gaps)) / NS_PER_S

    def arrival_error_s(self) -> Errors:
        """Return how far each request's arrival at the server is from its intended time."""
        return np.abs(_seconds([self.truth.received_ns[row] - one.intended_ns for one, row in self._pairs]))

    def completed_ratio(self, tokens: int = OUTPUT_TOKENS) -> float:
        """Return the share of the window's requests that came back whole, with every token's time."""
        return sum(len(one.chunk_ns) == tokens for one, _ in self._pairs) / max(1, len(self.issued))

    def achieved_rps(self) -> float:
        """Return the rate at which the window's requests reached the server."""
        times = np.sort([self.truth.received_ns[row] for _, row in self._pairs])
        return (len(times) - 1) * NS_PER_S / float(times[-1] - times[0]) if len(times) > 1 else 0.0


def play(
    offsets_ns: Sequence[int], *, tokens: int = OUTPUT_TOKENS, ttft_s: float = TTFT_S, itl_s: float = ITL_S
) -> Played:
    """Send requests at these times, the first second being the warm-up; a run in which the server was late is repeated.

    Raises:
        ServerLateError: it was late each time.
        NoCompilerError: there is no C compiler.
    """
    for _ in range(ATTEMPTS):
        client, server = cores()
        with scripted_server(ttft_s=ttft_s, itl_s=itl_s, cpus=server) as running:
            log = replay(running.url, offsets_ns, tokens=tokens, cpus=client)
            played = Played(log, running.read_log())
        if played.truth.late_p99_s <= SERVER_LATE_LIMIT_S:
            return played
    raise ServerLateError(
        f"the server was late by {played.truth.late_p99_s:.4f} s at P99 in the last of {ATTEMPTS} attempts, "
        f"{SERVER_LATE_LIMIT_S} s is allowed; is the machine busy?"
    )


def replay(url: str, offsets_ns: Sequence[int], *, tokens: int, cpus: Sequence[int] | None) -> ReplayLog:
    """Replay against a running server, full records kept."""
    dialect = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
    body = encode_request(PROMPT, MODEL, dialect=dialect, max_tokens=tokens)
    requests = [PreparedRequest(index, at, body, len(PROMPT), tokens) for index, at in enumerate(offsets_ns)]
    span_s = (offsets_ns[-1] + 1) / NS_PER_S
    timing = Timing(WARMUP_S, max(0.1, span_s - WARMUP_S), DRAIN_S, TIMEOUT_S)
    load = OpenLoad(rate_rps=len(requests) / span_s)
    return replay_open(
        requests, Endpoint(url, MODEL), load=load, timing=timing, dialect=dialect, cpus=cpus, stays_awake=True
    )


def constant_ns(rate_rps: float, measure_s: float) -> list[int]:
    """Return a constant grid of times for the warm-up and the window."""
    return [round(index * NS_PER_S / rate_rps) for index in range(round(rate_rps * (WARMUP_S + measure_s)))]


def cores() -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return the client's core and the server's; None for both where there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return (None, None) if len(allowed) == 1 else ((allowed[0],), (allowed[-1],))


def _seconds(values_ns: Sequence[int]) -> Errors:
    return np.asarray(values_ns, dtype=np.float64) / NS_PER_S
