"""One look at the client: a load against the null server, and how far what it reports lies from the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.replay.calibration.null_process import MODEL, NullServer, Truth
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.replay import replay_open
from orchestrator.replay.session import Timing

ACHIEVED_RATIO = 0.95
TTFT_ERROR_S = 0.010  # P99; of the same size as the lag at which a measurement is called degraded
DISPATCH_LAG_S = 0.010  # P99
SERVER_LATE_S = 0.005  # P99; half of what the client is held to: a server as late as that says nothing of a client
P99 = 99
PROMPT = list(range(32))
WARMUP_S = 0.15  # longer than an answer lasts, so that the window begins with all streams open
Verdict = Literal["honest", "client", "null_server"]


@dataclass(frozen=True, slots=True)
class Probe:
    """What one load showed: errors in seconds, absolute, over the requests of the window that both sides know."""

    rate_rps: float
    chunks_per_s: float
    achieved_ratio: float
    num_lost: int
    ttft_error_s: NDArray[np.float64]
    itl_error_s: NDArray[np.float64]
    dispatch_lag_s: NDArray[np.float64]
    server_late_s: NDArray[np.float64]

    @property
    def verdict(self) -> Verdict:
        """Say whether the client was honest, and whose fault it is where that was not shown.

        Honest: at least 95 % of the offered rate, no request lost, P99 of the error in TTFT and of the dispatch lag at
        most 10 ms. A server that was itself late proves nothing, neither for nor against the client.
        """
        if not self.server_late_s.size or np.percentile(self.server_late_s, P99) > SERVER_LATE_S:
            return "null_server"
        is_honest = (
            self.achieved_ratio >= ACHIEVED_RATIO
            and not self.num_lost
            and np.percentile(self.ttft_error_s, P99) <= TTFT_ERROR_S
            and np.percentile(self.dispatch_lag_s, P99) <= DISPATCH_LAG_S
        )
        return "honest" if is_honest else "client"


def measure_client(
    server: NullServer, rate_rps: float, *, measure_s: float, cpus: Sequence[int] | None, seed: int = 0
) -> Probe:
    """Offer Poisson arrivals to the null server by the very client that measures engines, and compare.

    Raises:
        MeasurementRefusedError: too few descriptors, or the null server is gone.
    """
    dialect = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
    requests = _requests(rate_rps, WARMUP_S + measure_s, dialect=dialect, seed=seed)
    log = replay_open(
        requests,
        server.endpoint,
        load=OpenLoad(rate_rps=rate_rps),
        timing=Timing(warmup_s=WARMUP_S, measure_s=measure_s, drain_s=1.0, request_timeout_s=3.0),
        dialect=dialect,
        cpus=cpus,
    )
    num_planned = sum(one.offset_ns >= WARMUP_S * NS_PER_S for one in requests)
    return compare(log, server.take(), rate_rps=rate_rps, num_planned=num_planned)


def compare(log: ReplayLog, truth: Truth, *, rate_rps: float, num_planned: int) -> Probe:
    """Hold a replay's records against what the server did.

    `num_planned` is how many requests the schedule puts into the window: one that was never sent leaves no record.
    """
    window = log.window
    issued = [one for one in log.records if window.start_ns <= one.intended_ns < window.end_ns]
    sent = sum(one.sent_ns is not None and window.start_ns <= one.sent_ns < window.end_ns for one in log.records)
    rows = {int(index): row for row, index in enumerate(truth.index)}
    chunks = truth.sent_ns.shape[1]
    known = [one for one in issued if one.index in rows and _is_whole(one, chunks)]
    picked = [rows[one.index] for one in known]
    seen_ns = np.array([one.chunk_ns for one in known], dtype=np.int64).reshape(len(known), chunks)
    reported_ns = seen_ns[:, 0] - np.array([one.sent_ns for one in known], dtype=np.int64)
    true_ns = truth.sent_ns[picked, 0] - truth.received_ns[picked]
    gap_error_ns = np.diff(seen_ns, axis=1) - np.diff(truth.sent_ns[picked], axis=1)
    return Probe(
        rate_rps=rate_rps,
        chunks_per_s=rate_rps * chunks,
        achieved_ratio=sent / num_planned if num_planned else 0.0,
        num_lost=num_planned - len(known),
        ttft_error_s=np.abs(reported_ns - true_ns) / NS_PER_S,
        itl_error_s=np.abs(gap_error_ns).ravel() / NS_PER_S,
        dispatch_lag_s=np.array([one.dispatched_ns - one.intended_ns for one in issued]) / NS_PER_S,
        server_late_s=(truth.sent_ns - truth.due_ns)[picked].ravel() / NS_PER_S,
    )


def _is_whole(record: RequestRecord, chunks: int) -> bool:
    return record.failure is None and record.sent_ns is not None and len(record.chunk_ns) == chunks


def _requests(rate_rps: float, span_s: float, *, dialect: Dialect, seed: int) -> list[PreparedRequest]:
    body = encode_request(PROMPT, MODEL, dialect=dialect, max_tokens=1)
    draw = np.random.default_rng(seed)
    gaps_s = draw.exponential(1 / rate_rps, size=max(1, round(rate_rps * span_s * 1.5)))
    times_ns = (np.cumsum(gaps_s) * NS_PER_S).astype(np.int64)
    inside = times_ns[times_ns < span_s * NS_PER_S].tolist()
    return [PreparedRequest(index, at, body, len(PROMPT), 1) for index, at in enumerate(inside)]
