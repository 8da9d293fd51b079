"""How certain a measurement's rates and its SLO attainment are: one interval each, where one can be given."""

from collections.abc import Mapping, Sequence

import numpy as np

from orchestrator.domain.distribution import Distribution, Interval
from orchestrator.domain.measurement import Rate
from orchestrator.domain.records import RequestRecord, Window
from orchestrator.domain.slo import Slo
from orchestrator.metrics.columns import Arrivals
from orchestrator.metrics.intervals.rates import attainment_interval, rate_interval
from orchestrator.metrics.slo import meets

JUDGED = ("ttft_from_intended_s", "e2e_from_intended_s")  # latencies whose dependence a promise shares


def rate_intervals(
    seen: Arrivals,
    issued: Sequence[RequestRecord],
    slo: Slo | None,
    *,
    window: Window,
    latencies: Mapping[str, Distribution],
) -> dict[Rate, Interval]:
    """Return the 95 % intervals of what a measurement counts per second of window, and of its SLO attainment.

    They bound the rates of the long run, so they hold the noise of random arrivals too, and mean nothing of a load that
    was given up, which has no long run. `latencies` are the measurement's own.
    """
    found: dict[Rate, Interval | None] = {
        "achieved_rps": rate_interval(seen.sent_ns, None, window, requests=seen.sent_ns.size),
        "requests_per_s": rate_interval(seen.completed_ns, None, window, requests=seen.completed_ns.size),
        "output_tokens_per_s": rate_interval(seen.token_ns, seen.tokens, window, requests=seen.requests_answering),
    }
    if slo is not None:
        met = np.fromiter((meets(one, slo) for one in issued), dtype=np.bool_, count=len(issued))
        intended_ns = np.fromiter((one.intended_ns for one in issued), dtype=np.int64, count=len(issued))
        found["goodput_rps"] = rate_interval(intended_ns, met.astype(np.float64), window, requests=met.size)
        found["slo_attainment"] = attainment_interval(met, inflation=_inflation(latencies))
    return {name: interval for name, interval in found.items() if interval is not None}


def _inflation(latencies: Mapping[str, Distribution]) -> float:
    samples = [latencies[name] for name in JUDGED]
    return max([1.0, *(one.count / one.effective_count for one in samples if one.effective_count)])
