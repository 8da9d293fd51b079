"""A power law above x_min: where it comes nearest, its exponent, and whether its own samples lie as far.

Clauset, Shalizi and Newman 2009 (SIAM Review 51:661), for grouped whole counts with a cap.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.model.families import Values
from workloads.profile.lengths.intervals import Intervals

MIN_TAIL = 50
MIN_INTERVALS = 10
NUM_SAMPLES = 199


class Excess(NamedTuple):
    """Requests above x_min: `logs` are the edges' logarithms less the first edge's, which is x_min's.

    The last interval has no end: it begins at the last edge and holds what was capped, or nothing.
    """

    x_min_edge: float
    logs: Values
    requests: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Return the number of requests."""
        return int(self.requests.sum())

    @property
    def span(self) -> float:
        """Return how many times x_min the longest request is that was not capped."""
        return float(np.exp(self.logs[int(np.flatnonzero(self.requests[:-1])[-1]) + 1]))


def choose_excess(intervals: Intervals) -> Excess | None:
    """Choose x_min where the power law lies nearest (section 3.3); None where no tail is large enough."""
    candidates = [_excess(intervals, place) for place in range(1, intervals.edges.size - 1)]
    large = [one for one in candidates if _is_large(one)]
    return min(large, key=_own_ks, default=None)


def _excess(intervals: Intervals, place: int) -> Excess:
    edges = intervals.edges[place:-1]
    return Excess(float(edges[0]), np.log(edges / edges[0]), intervals.requests[place:])


def _is_large(excess: Excess) -> bool:
    uncapped = excess.requests[:-1]
    is_start = uncapped.size > 0 and bool(uncapped[0] > 0)
    return is_start and int(uncapped.sum()) >= MIN_TAIL and int(np.count_nonzero(uncapped)) >= MIN_INTERVALS


def _own_ks(excess: Excess) -> float:
    requests = excess.requests[np.newaxis]
    return float(_ks(excess.logs, requests, estimate_rates(excess.logs, requests))[0])


def estimate_rates(logs: Values, requests: NDArray[np.int64]) -> Values:
    """Return the rate at which log survival falls with log length, one for each row of `requests`, likeliest.

    It is the density's exponent less 1. Logarithms of Pareto lengths are exponential, so it is uncapped requests over
    the sum of logarithms (equation 3.1), each taken in the middle of its interval.
    """
    middles = np.append((logs[:-1] + logs[1:]) / 2, logs[-1])
    return np.asarray(requests[:, :-1].sum(axis=1) / (requests @ middles))


def _ks(logs: Values, requests: NDArray[np.int64], rates: Values) -> Values:
    above = requests[:, ::-1].cumsum(axis=1)[:, ::-1] / requests.sum(axis=1, keepdims=True)
    return np.asarray(np.abs(above - np.exp(-np.outer(rates, logs))).max(axis=1))


def fit_p(excess: Excess, generator: np.random.Generator) -> float:
    """Return (1 + samples at least as far) / (1 + samples), for samples of the fitted power law, fitted anew.

    As in section 4.1, but x_min is held, so that p errs towards the power law.
    """
    (rate,) = estimate_rates(excess.logs, excess.requests[np.newaxis])
    shares = -np.diff(np.append(np.exp(-rate * excess.logs), 0.0))
    samples = generator.multinomial(excess.total, shares, size=NUM_SAMPLES)
    distances = _ks(excess.logs, samples, estimate_rates(excess.logs, samples))
    return float((1 + np.count_nonzero(distances >= _own_ks(excess))) / (1 + NUM_SAMPLES))
