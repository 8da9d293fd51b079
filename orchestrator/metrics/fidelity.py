"""The client's verdict on itself: whether its own lateness or miscounting may stand behind the figures.

Judges the ruler only. A slow or failing engine is a finding, not a fault of the measurement.
"""

from collections.abc import Iterator, Sequence

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.measurement import Distribution, Fidelity, Verdict
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.metrics import latency
from orchestrator.metrics.percentiles import distribution, highest_percentile
from orchestrator.metrics.window import issued_in, sent_in

LAG_DEGRADED_S = 0.010  # a quarter of the fastest TTFT seen on a small model: visible in a comparison
LAG_INVALID_S = 0.100  # of the order of a typical TTFT bound: the client, not the engine, decides pass or miss
ACHIEVED_DEGRADED_RATIO = 0.95  # below, the engine saw a lighter load than the record says
ACHIEVED_SLACK = 1  # a request that crosses the window's edge is no shortfall
CLIENT_CPU_DEGRADED_RATIO = 0.8  # of one core: beyond, waiting in a single-threaded client doubles (M/D/1)
MISCOUNT_DEGRADED_RATIO = 0.01  # more and P99 of TPOT may rest on wrong counts

Finding = tuple[Verdict, str]
_SEVERITY = (Verdict.SOUND, Verdict.DEGRADED, Verdict.INVALID)


def judge(log: ReplayLog, *, degraded_by: Sequence[str] = ()) -> Fidelity:
    """Judge a replay by its lags, its achieved rate, its CPU use and its token counts.

    `degraded_by` names what others saw that spoils the figures, such as a throttled device. Lags are judged at the
    highest percentile, P99 at most, that their sample carries, so that the ruler is held to what it reports.
    """
    issued = issued_in(log.records, log.window)
    dispatch_lag_s = distribution(latency.dispatch_lag_s(one) for one in issued)
    loop_lag_s = distribution(max(0, lag) / NS_PER_S for lag in log.loop_lag_ns)
    achieved_ratio = achieved_to_offered_ratio(log)
    findings: list[Finding] = [
        *_nothing_issued(issued),
        *_lag("dispatch lag", dispatch_lag_s),
        *_lag("event-loop lag", loop_lag_s),
        *_unsampled(loop_lag_s),
        *_shortfall(log, issued),
        *_cpu(log.client_cpu_ratio),
        *_miscounts(issued),
        *((Verdict.DEGRADED, reason) for reason in degraded_by),
    ]
    return Fidelity(
        verdict=max((verdict for verdict, _ in findings), key=_SEVERITY.index, default=Verdict.SOUND),
        reasons=tuple(reason for _, reason in findings),
        dispatch_lag_s=dispatch_lag_s,
        loop_lag_s=loop_lag_s,
        client_cpu_ratio=log.client_cpu_ratio,
        achieved_to_offered_ratio=achieved_ratio,
        token_count_mismatch_ratio=token_count_mismatch_ratio(issued),
    )


def achieved_to_offered_ratio(log: ReplayLog) -> float | None:
    """Return requests sent in the window over requests that the schedule put there; None in closed loop.

    The schedule's own realised count, not rate times length: a Poisson schedule of 36 arrivals differs from its
    nominal rate by 17 % one time in three, and that is no fault of the client.
    """
    issued = issued_in(log.records, log.window)
    if not isinstance(log.load, OpenLoad) or not issued:
        return None
    return sent_in(log.records, log.window) / len(issued)


def token_count_mismatch_ratio(issued: Sequence[RequestRecord]) -> float | None:
    """Return the share of completed requests whose client and server counts differ; None without server counts."""
    counted = [one for one in issued if one.failure is None and one.output_tokens_server is not None]
    if not counted:
        return None
    return sum(not latency.token_counts_agree(one) for one in counted) / len(counted)


def _nothing_issued(issued: Sequence[RequestRecord]) -> Iterator[Finding]:
    if not issued:
        yield Verdict.INVALID, "no request was issued in the window: lengthen it or raise the load"


def _lag(name: str, lag_s: Distribution) -> Iterator[Finding]:
    level = highest_percentile(lag_s.count)
    if level is None:
        label, value = "mean", lag_s.mean
    else:
        label = f"P{level * 100:g}"
        value = {0.5: lag_s.p50, 0.9: lag_s.p90, 0.95: lag_s.p95, 0.99: lag_s.p99}[level]
    if value is None or value <= LAG_DEGRADED_S:
        return
    verdict, limit_s = (Verdict.INVALID, LAG_INVALID_S) if value > LAG_INVALID_S else (Verdict.DEGRADED, LAG_DEGRADED_S)
    yield verdict, f"{label} of {name} is {value * 1000:.1f} ms, over {limit_s * 1000:.0f} ms: the client was late"


def _unsampled(loop_lag_s: Distribution) -> Iterator[Finding]:
    if loop_lag_s.count == 0:
        yield Verdict.DEGRADED, "event-loop lag was not sampled: late reading of tokens cannot be ruled out"


def _shortfall(log: ReplayLog, issued: Sequence[RequestRecord]) -> Iterator[Finding]:
    ratio = achieved_to_offered_ratio(log)
    if ratio is None or ratio >= ACHIEVED_DEGRADED_RATIO:
        return
    num_sent = sent_in(log.records, log.window)
    if len(issued) - num_sent > ACHIEVED_SLACK:
        yield Verdict.DEGRADED, f"{num_sent} of {len(issued)} scheduled requests were sent in the window"


def _cpu(ratio: float | None) -> Iterator[Finding]:
    if ratio is not None and ratio > CLIENT_CPU_DEGRADED_RATIO:
        yield Verdict.DEGRADED, f"the client used {ratio:.0%} of a core, over {CLIENT_CPU_DEGRADED_RATIO:.0%}"


def _miscounts(issued: Sequence[RequestRecord]) -> Iterator[Finding]:
    miscounted = sum(_is_miscounted(one) for one in issued)
    if issued and miscounted / len(issued) > MISCOUNT_DEGRADED_RATIO:
        yield Verdict.DEGRADED, f"{miscounted} of {len(issued)} requests carry token counts that cannot both be right"


def _is_miscounted(record: RequestRecord) -> bool:
    """Say whether the counts contradict each other; fewer chunks than tokens is how some servers stream, no error."""
    server = record.output_tokens_server
    if record.failure is not None or server is None:
        return False
    if record.chunk_tokens is not None:
        return not latency.token_counts_agree(record)
    return record.output_tokens_client > server
