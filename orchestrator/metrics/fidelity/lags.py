"""How late the client was: in sending, by its dispatch lag, and in reading, by its event loop's.

Judged at two places: at the highest percentile that the sample carries, and at the median.
"""

from collections.abc import Iterator, Sequence

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.distribution import Distribution
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.records import RequestRecord
from orchestrator.metrics.fidelity.findings import Finding
from orchestrator.metrics.percentiles import highest_percentile

LAG_DEGRADED_S = 0.010  # a quarter of the fastest TTFT seen on a small model: visible in a comparison
LAG_INVALID_S = 0.100  # of the order of a typical TTFT bound: the client, not the engine, decides pass or miss
# At the median it is no outlier but a bias of every latency, and other work on the machine, which comes in bursts, does
# not move it: a quiet client's is 0.1 ms, one that shares its interpreter with a busy thread waits 5 ms each time.
LAG_BIAS_S = 0.002
EARLY_NS = 1_000_000  # more than any rounding; a request cannot leave before its time but by a wrong clock
EARLY_RATIO = 0.01  # as many as P99 would show


def judge_lags(dispatch_lag_s: Distribution, loop_lag_s: Distribution) -> Iterator[Finding]:
    """Find lateness in dispatch and in the event loop, and a loop that nobody sampled."""
    for name, lag_s in (("dispatch lag", dispatch_lag_s), ("event-loop lag", loop_lag_s)):
        yield from list(judge_tail(name, lag_s)) or _bias(name, lag_s)
    if loop_lag_s.count == 0:
        yield Finding(Verdict.DEGRADED, "event-loop lag was not sampled: late reading of tokens cannot be ruled out")


def judge_tail(
    name: str,
    lag_s: Distribution,
    *,
    degraded_s: float = LAG_DEGRADED_S,
    invalid_s: float = LAG_INVALID_S,
    why: str = "the client was late",
) -> Iterator[Finding]:
    """Find a lag whose highest carried percentile, P99 at most, is beyond a limit; the mean below six values."""
    label, value = _highest(lag_s)
    if value is None or value <= degraded_s:
        return
    verdict, limit_s = (Verdict.INVALID, invalid_s) if value > invalid_s else (Verdict.DEGRADED, degraded_s)
    yield Finding(verdict, f"{label} of {name} is {value * 1000:.1f} ms, over {limit_s * 1000:g} ms: {why}")


def judge_early(issued: Sequence[RequestRecord]) -> Iterator[Finding]:
    """Find requests that left before their time: a schedule that was not kept, or times of two clocks."""
    early_ns = [one.intended_ns - one.dispatched_ns for one in issued if one.intended_ns - one.dispatched_ns > EARLY_NS]
    if len(early_ns) > EARLY_RATIO * len(issued):
        yield Finding(
            Verdict.INVALID if max(early_ns) > LAG_INVALID_S * NS_PER_S else Verdict.DEGRADED,
            f"{len(early_ns)} of {len(issued)} requests were handed on before their time, by up to "
            f"{max(early_ns) / 1e6:.1f} ms: the clocks of schedule and client differ",
        )


def _bias(name: str, lag_s: Distribution) -> Iterator[Finding]:
    if lag_s.p50 is not None and lag_s.p50 > LAG_BIAS_S:
        yield Finding(
            Verdict.DEGRADED,
            f"P50 of {name} is {lag_s.p50 * 1000:.1f} ms, over {LAG_BIAS_S * 1000:g} ms: the client was late all the "
            "time, as with a busy thread beside it",
        )


def _highest(lag_s: Distribution) -> tuple[str, float | None]:
    level = highest_percentile(lag_s.count)
    if level is None:
        return "mean", lag_s.mean
    return f"P{level * 100:g}", {0.5: lag_s.p50, 0.9: lag_s.p90, 0.95: lag_s.p95, 0.99: lag_s.p99}[level]
