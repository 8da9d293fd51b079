"""Puts what is found together into one verdict on the client and the path; holds no limit.

Judges the ruler only. A slow or failing engine is a finding, not a fault of the measurement.
"""

from collections.abc import Iterator, Sequence

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.fidelity import Fidelity, Verdict
from orchestrator.domain.records import ReplayLog
from orchestrator.domain.telemetry import Telemetry
from orchestrator.metrics import latency
from orchestrator.metrics.fidelity import arrivals, counts, engine_ttft, lags, streams, workers
from orchestrator.metrics.fidelity.findings import Finding, worst
from orchestrator.metrics.percentiles import distribution
from orchestrator.metrics.window import issued_in, sent_in

CLIENT_CPU_DEGRADED_RATIO = 0.8  # of one core: beyond, waiting in a single-threaded client doubles (M/D/1)


def judge(log: ReplayLog, *, degraded_by: Sequence[str] = (), telemetry: Telemetry | None = None) -> Fidelity:
    """Judge a replay by what its log says of the client, and against the engine's own histogram where there is one.

    `degraded_by` names what others saw that spoils the figures, such as a throttled device. Lags are judged at the
    highest percentile, P99 at most, that their sample carries, so that the ruler is held to what it reports.
    """
    issued, num_sent = issued_in(log.records, log.window), sent_in(log.records, log.window)
    lag_s = [latency.dispatch_lag_s(one) for one in issued]
    loop_s = [max(0, lag) / NS_PER_S for lag in log.loop_lag_ns]
    dispatch_lag_s, loop_lag_s = distribution(lag_s), distribution(loop_s)
    engine = engine_ttft.compare_ttft(log, telemetry)
    bunched = streams.bunched_chunk_ratio(issued)
    is_engine_met = engine is not None and engine.agrees
    findings: list[Finding] = [
        *lags.judge_lags(dispatch_lag_s, loop_lag_s),
        *lags.judge_early(issued),
        *arrivals.judge_arrivals(log, issued, num_sent=num_sent),
        *_cpu(log.client_cpu_ratio),
        *engine_ttft.judge_engine_ttft(engine),
        *streams.judge_streams(log, issued, bunched_ratio=bunched, is_engine_met=is_engine_met),
        *workers.judge_workers(log),
        *counts.judge_counts(issued),
        *(Finding(Verdict.DEGRADED, reason) for reason in degraded_by),
    ]
    return Fidelity(
        verdict=worst(findings),
        reasons=tuple(one.reason for one in findings),
        dispatch_lag_s=dispatch_lag_s,
        dispatch_lag_max_s=max(lag_s, default=None),
        loop_lag_s=loop_lag_s,
        loop_lag_max_s=max(loop_s, default=None),
        client_cpu_ratio=log.client_cpu_ratio,
        achieved_to_offered_ratio=arrivals.achieved_to_offered_ratio(log, issued, num_sent=num_sent),
        token_count_mismatch_ratio=counts.token_count_mismatch_ratio(issued),
        queue_s=arrivals.queue_s(issued),
        connecting_s=arrivals.connecting_s(issued),
        arrival_error_s=arrivals.arrival_error_s(log, issued),
        engine_ttft_difference_s=None if engine is None else engine.difference_s,
        bunched_chunk_ratio=bunched,
        clock_offset_s=workers.clock_offset_s(log),
        late_worker_s=workers.late_worker_s(log),
        backlog_s=log.backlog_s,
        workers=max(1, len(log.workers)),
        path=log.path,
    )


def _cpu(ratio: float | None) -> Iterator[Finding]:
    if ratio is not None and ratio > CLIENT_CPU_DEGRADED_RATIO:
        yield Finding(Verdict.DEGRADED, f"the client used {ratio:.0%} of a core, over {CLIENT_CPU_DEGRADED_RATIO:.0%}")
