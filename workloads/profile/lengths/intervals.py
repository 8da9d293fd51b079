"""Lengths as intervals: a count of k tokens stands for a length from k - 1/2 to k + 1/2, a cap for any length above it.

One token stands for all lengths up to 3/2, since no request is drawn shorter. Likelihoods are exact for intervals.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workloads.model import FamilyName
from workloads.model.families import FAMILIES, Parameters, Values
from workloads.profile.lengths.counts import Counts

FINEST_UNTIL = 32
GROWTH = 1 + 1 / FINEST_UNTIL
LEAST_P = 1e-300


@dataclass(frozen=True)
class Intervals:
    """Requests between edges: `requests[i]` lie above `edges[i]` tokens and up to `edges[i + 1]`.

    Edges rise from 0 to infinity; the last interval holds what was capped, or nothing. A search asks the same intervals
    thousands of times, so what does not depend on parameters is worked out once.
    """

    edges: Values
    requests: NDArray[np.int64]

    @cached_property
    def total(self) -> int:
        """Return the number of requests."""
        return int(self.requests.sum())

    @cached_property
    def lowest(self) -> float:
        """Return the lower edge of the shortest request; half a token at least."""
        return max(0.5, float(self.edges[self.occupied[0]]))

    @cached_property
    def middle(self) -> int:
        """Return the place of the interval that holds the median."""
        return int(np.searchsorted(np.cumsum(self.requests), self.total / 2))

    @cached_property
    def occupied(self) -> NDArray[np.int64]:
        """Return the places of intervals with requests."""
        return np.flatnonzero(self.requests)


def single_intervals(counts: Counts, cap: int | None) -> Intervals:
    """Give each distinct length an interval of its own; lengths from `cap` on share one without end."""
    tokens = counts.tokens.astype(np.float64)
    return _intervals(counts, np.concatenate([tokens - 0.5, tokens + 0.5]), cap)


def grouped_intervals(counts: Counts, cap: int | None) -> Intervals:
    """Group lengths: single ones up to 32 tokens, beyond that a thirty-second of their length together.

    So estimates cost the same for any number of requests. For a lognormal of sigma 1 the grouping keeps all but
    1/12,000 of the information about mu (Sheppard's correction).
    """
    longest = int(counts.tokens[-1])
    fine = np.arange(1, FINEST_UNTIL + 1) + 0.5
    steps = max(0, int(np.ceil(np.log(longest / FINEST_UNTIL) / np.log(GROWTH))) + 1)
    coarse = np.floor(FINEST_UNTIL * GROWTH ** np.arange(1, steps + 1)) + 0.5
    ends = np.array([counts.tokens[0] - 0.5, longest + 0.5])
    edges = np.concatenate([fine, coarse, ends])
    return _intervals(counts, edges[(edges >= ends[0]) & (edges <= ends[1])], cap)


def _intervals(counts: Counts, edges: Values, cap: int | None) -> Intervals:
    highest = cap - 0.5 if cap is not None else edges.max()
    inner = np.unique(np.append(edges[(edges > 1) & (edges < highest)], highest))
    bounded = np.concatenate([[0.0], inner, [np.inf]])
    places = np.searchsorted(bounded, counts.tokens) - 1
    requests = np.bincount(places, weights=counts.requests, minlength=bounded.size - 1)
    return Intervals(bounded, requests.astype(np.int64))


def interval_shares(family: FamilyName, parameters: Parameters, intervals: Intervals) -> Values:
    """Return the share of a family's lengths in each interval, from whichever tail is the smaller there."""
    functions, split = FAMILIES[family], intervals.middle + 1
    with np.errstate(divide="ignore", over="ignore"):
        below = functions.cdf(parameters, intervals.edges[:split])
        above = functions.sf(parameters, intervals.edges[split:])
    shares = np.empty(intervals.edges.size - 1)
    shares[: split - 1] = below[1:] - below[:-1]
    shares[split - 1] = 1 - below[-1] - above[0]
    shares[split:] = above[:-1] - above[1:]
    return np.maximum(shares, 0.0, out=shares)


def log_likelihood(family: FamilyName, parameters: Parameters, intervals: Intervals) -> float:
    """Return the log-likelihood of a family, natural logarithm."""
    shares = interval_shares(family, parameters, intervals)[intervals.occupied]
    return float(intervals.requests[intervals.occupied] @ np.log(np.maximum(shares, LEAST_P)))
