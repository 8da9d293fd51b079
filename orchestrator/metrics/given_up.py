"""What a load that was given up may claim: no more of its promise than its whole window would have shown.

Its first requests met a short queue. Counted over the shortened window alone they would make it look better than it is.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orchestrator.domain.distribution import Distribution
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.domain.slo import Slo
from orchestrator.domain.steadiness import Steadiness
from orchestrator.metrics.saturation import is_given_up
from orchestrator.metrics.slo import goodput_rps, slo_attainment


class Promise(NamedTuple):
    """Goodput, requests per second, and SLO attainment, 0 to 1; None where nothing was issued or nothing is known."""

    goodput_rps: float | None
    slo_attainment: float | None


def settled(samples: Mapping[str, Distribution], found: Steadiness) -> dict[str, Distribution]:
    """Leave intervals of latencies out where the queue was unstable, and how many values would carry a percentile.

    There is no value that they could bound, and no number of requests that would find it.
    """
    if found.oversaturated_at_s is None:
        return dict(samples)
    return {
        name: sample.model_copy(update={"intervals": {}, "needed": {}, "effective_count": None})
        if name.endswith("_s")
        else sample
        for name, sample in samples.items()
    }


def promise(log: ReplayLog, issued: Sequence[RequestRecord], slo: Slo | None, *, declared_s: float | None) -> Promise:
    """Judge the issued requests over the window; for a load that was given up, over the window as it was declared.

    What the load would still have offered until the declared end, at its nominal rate, counts as missed: its queue
    had no way back. Both values are then lower bounds. None for such a load where the declared window is not known.
    """
    if slo is None:
        return Promise(None, None)
    measured_s = log.window.duration_s
    attained, goodput = slo_attainment(issued, slo), goodput_rps(issued, slo, window_s=measured_s)
    if not is_given_up(log) or not isinstance(log.load, OpenLoad):
        return Promise(goodput, attained)
    if declared_s is None or attained is None or goodput is None:
        return Promise(None, None)
    missed = log.load.rate_rps * max(0.0, declared_s - measured_s)
    longest_s = max(declared_s, measured_s)
    return Promise(goodput * measured_s / longest_s, attained * len(issued) / (len(issued) + missed))
