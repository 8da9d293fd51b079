"""Intervals of rates over a window and of shares of requests, from when things happened."""

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.distribution import Interval
from orchestrator.domain.records import Window
from orchestrator.metrics.intervals.autoregression import Floats
from orchestrator.metrics.intervals.dependence import MAX_BATCHES, variance_inflation
from orchestrator.metrics.intervals.means import MIN_VALUES, mean_interval
from orchestrator.metrics.intervals.order_statistics import share_interval

FINE_BINS = 100
PER_BIN = 10


def rate_interval(
    times_ns: NDArray[np.int64], weights: Floats | None, window: Window, *, requests: int
) -> Interval | None:
    """Return the 95 % interval of what happens per second in the long run, from what happened in [start, end).

    Each event counts 1, or its weight. The window is cut into equal bins, one a request up to a hundred, then one per
    ten requests up to 400, and the rate is the mean of a dependent series of counts. None below ten `requests`, where
    the window is too short to bin, and where no two bins differ.
    """
    bins = int(np.clip(requests // PER_BIN, min(requests, FINE_BINS), MAX_BATCHES))
    span_ns = window.end_ns - window.start_ns
    if requests < MIN_VALUES or span_ns < bins:
        return None
    inside = (times_ns >= window.start_ns) & (times_ns < window.end_ns)
    places = ((times_ns[inside] - window.start_ns) / span_ns * bins).astype(np.int64)
    counted = None if weights is None else weights[inside]
    totals = np.bincount(np.minimum(places, bins - 1), weights=counted, minlength=bins)
    per_s = totals.astype(np.float64) * (bins * NS_PER_S / span_ns)
    found = mean_interval(per_s)
    return None if found is None else Interval(low=max(0.0, found.low), high=max(0.0, found.high))


def attainment_interval(met: NDArray[np.bool_], *, inflation: float) -> Interval | None:
    """Return the 95 % interval of the share of requests that met a promise, in order of arrival; None where none was.

    The share itself may not vary and so not show its dependence: `inflation`, that of the latencies behind it, is
    taken where it is the larger, so that a hundred hits in a row within one long calm do not count as a hundred.
    """
    if not met.size:
        return None
    effective = met.size / max(inflation, variance_inflation(met.astype(np.float64)))
    return share_interval(float(met.mean()) * effective, effective=effective)
