"""Times at which the rate changed: PELT on counts, with a Poisson cost.

Killick, Fearnhead & Eckley, JASA 107 (2012), section 3; penalty 3 log(bins) a change point, the leading term of Zhang &
Siegmund's modified BIC, Biometrics 63 (2007), eq. 2. Costs are divided by the counts' own dispersion.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workloads.profile.arrivals.counts import Floats, count_windows
from workloads.profile.arrivals.model import ChangePoint
from workloads.trace import NS_PER_S

MAX_BINS = 512
COUNTS_PER_BIN = 4
MIN_BINS = 8
MIN_STEPS = 10
PENALTY = 3.0


def find_change_points(arrival_ns: NDArray[np.int64], *, step_ns: int, dispersion: float) -> tuple[ChangePoint, ...]:
    """Find change points of sorted arrivals that start at 0, in bins of at least ten time steps of `step_ns`.

    `dispersion` is the variance over mean of counts that is no change of the rate: 1 for a Poisson process. Where
    neighbouring counts differ by more than it, what they differ by is taken.
    """
    num_bins = max(1, min(MAX_BINS, arrival_ns.size // COUNTS_PER_BIN))
    steps = max(MIN_STEPS, -(-int(arrival_ns[-1]) // (num_bins * step_ns)))
    bin_ns = steps * step_ns
    counts = count_windows(arrival_ns + step_ns // 2, bin_ns).astype(np.float64)
    if counts.size < MIN_BINS:
        return ()
    scale = max(1.0, dispersion, _neighbour_dispersion(counts))
    edges = _partition(counts, PENALTY * scale * float(np.log(counts.size)))
    rates = [counts[start:stop].mean() * NS_PER_S / bin_ns for start, stop in pairwise(edges)]
    return tuple(
        ChangePoint(at_s=edge * bin_ns / NS_PER_S, rate_before_rps=float(before), rate_after_rps=float(after))
        for edge, before, after in zip(edges[1:-1], rates[:-1], rates[1:], strict=True)
    )


def _neighbour_dispersion(counts: Floats) -> float:
    """Return the variance over mean of counts from differences of neighbours (von Neumann 1941), blind to drift."""
    return float((np.diff(counts) ** 2).sum() / max(1.0, 2.0 * counts.sum()))


def _partition(counts: Floats, penalty: float) -> list[int]:
    """Return the edges of the segments of least cost, first 0 and last the number of bins."""
    sums = np.concatenate([np.zeros(1), np.cumsum(counts)])
    best, previous = np.full(sums.size, -penalty), np.zeros(sums.size, dtype=np.int64)
    starts = np.zeros(1, dtype=np.int64)
    for stop in range(1, sums.size):
        costs = best[starts] + _costs(sums[stop] - sums[starts], stop - starts)
        choice = int(np.argmin(costs))
        best[stop], previous[stop] = costs[choice] + penalty, starts[choice]
        starts = np.append(starts[costs <= best[stop]], stop)
    edges = [sums.size - 1]
    while edges[-1] > 0:
        edges.append(int(previous[edges[-1]]))
    return edges[::-1]


def _costs(totals: Floats, lengths: NDArray[np.int64]) -> Floats:
    """Twice the negative Poisson log-likelihood of segments, less what does not depend on where they end."""
    return np.asarray(-2.0 * totals * np.log(np.maximum(totals, 1.0) / lengths))
