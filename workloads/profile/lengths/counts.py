"""Lengths as counts: which lengths occur and how often. Work on them grows with distinct lengths, not with requests."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

CHUNK = 1 << 20
LONGEST_COUNTED = 1 << 24


class Counts(NamedTuple):
    """Distinct lengths, tokens, ascending, and how many requests have each."""

    tokens: NDArray[np.int64]
    requests: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Return the number of requests."""
        return int(self.requests.sum())

    def between(self, low: float, high: float) -> "Counts":
        """Return the lengths from `low` to `high`, both included."""
        kept = (self.tokens >= low) & (self.tokens <= high)
        return Counts(self.tokens[kept], self.requests[kept])

    def number_above(self, tokens: float) -> int:
        """Return how many requests are longer than `tokens`."""
        return int(self.requests[self.tokens > tokens].sum())


def count_lengths(tokens: NDArray[np.int32]) -> Counts:
    """Count lengths, none of them negative, in pieces so that little memory is used beside them."""
    if tokens.size and tokens.max() > LONGEST_COUNTED:
        distinct, requests = np.unique(tokens, return_counts=True)
        return Counts(distinct.astype(np.int64), requests.astype(np.int64))
    totals = np.zeros(int(tokens.max(initial=0)) + 1, np.int64)
    for start in range(0, tokens.size, CHUNK):
        part = np.bincount(tokens[start : start + CHUNK])
        totals[: part.size] += part
    present = np.flatnonzero(totals)
    return Counts(present, totals[present])


def order_statistics(counts: Counts, places: ArrayLike) -> NDArray[np.float64]:
    """Return lengths by their place in ascending order, from 0; between two places linearly."""
    ends = np.cumsum(counts.requests)
    below = np.floor(np.asarray(places, np.float64))
    above = np.minimum(below + 1, ends[-1] - 1)
    low, high = (counts.tokens[np.searchsorted(ends, at, side="right")] for at in (below, above))
    return np.asarray(low + (np.asarray(places) - below) * (high - low), np.float64)


def sample_counts(counts: Counts, limit: int, *, generator: np.random.Generator) -> Counts:
    """Draw `limit` requests without replacement; all of them where there are no more."""
    if counts.total <= limit:
        return counts
    drawn = generator.multivariate_hypergeometric(counts.requests, limit, method="marginals")
    return Counts(counts.tokens[drawn > 0], drawn[drawn > 0])
