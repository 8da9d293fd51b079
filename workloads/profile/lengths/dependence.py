"""How input and output lengths go together: Spearman's rank correlation with an interval that holds with ties."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from workloads.profile.lengths.counts import CHUNK, LONGEST_COUNTED, Counts, count_lengths
from workloads.profile.lengths.model import DependenceProfile

MIN_REQUESTS = 10
MAX_FOR_ERROR = 500_000
CONFIDENCE = 0.95
ALMOST_ONE = 1 - 1e-9
SMALL_SAMPLE = 3

Values = NDArray[np.float64]
Tokens = NDArray[np.int32]


class Ranked(NamedTuple):
    """One length of each request as a code from 0, its centred rank (-1/2 to 1/2), and its ranks' variance."""

    codes: NDArray[np.intp]
    ranks: Values
    variance: float


def describe_dependence(inputs: Tokens, outputs: Tokens) -> DependenceProfile | None:
    """Measure Spearman's rank correlation, equal lengths sharing their middle rank, and its 95 % interval.

    The interval is symmetric in Fisher's z; the error comes from the correlation's influence function, ties included,
    for requests independent of each other, and is widened for few of them as Fisher's is (n - 3). Of long traces
    evenly spaced requests, at most 500,000, give the error.
    None for fewer than 10 requests, or where all inputs or all outputs are equally long.

    Raises:
        ValueError: the two are not equally many.
    """
    if inputs.size != outputs.size:
        raise ValueError(f"expected an output for each of {inputs.size} inputs, seen {outputs.size}")
    in_counts, out_counts = count_lengths(inputs), count_lengths(outputs)
    if inputs.size < MIN_REQUESTS or min(in_counts.tokens.size, out_counts.tokens.size) == 1:
        return None
    correlation = _correlate(inputs, outputs, in_counts, out_counts)
    stride = -(-inputs.size // MAX_FOR_ERROR)
    influence = _influence(_rank(inputs[::stride]), _rank(outputs[::stride]))
    error = float(influence.std()) / float(np.sqrt(inputs.size - SMALL_SAMPLE))
    low, high = _interval(correlation, error, inputs.size - SMALL_SAMPLE)
    return DependenceProfile(rank_correlation=correlation, low=low, high=high, num_requests=inputs.size)


def _correlate(inputs: Tokens, outputs: Tokens, in_counts: Counts, out_counts: Counts) -> float:
    """Correlate ranks piece by piece, so that no array of them all is needed."""
    in_ranks, out_ranks = _centred_ranks(in_counts), _centred_ranks(out_counts)
    find_in, find_out = _finder(in_counts, in_ranks), _finder(out_counts, out_ranks)
    product = 0.0
    for start in range(0, inputs.size, CHUNK):
        piece = slice(start, start + CHUNK)
        product += float(find_in(inputs[piece]) @ find_out(outputs[piece]))
    spread = (in_counts.requests @ in_ranks**2) * (out_counts.requests @ out_ranks**2)
    return float(np.clip(product / np.sqrt(spread), -1, 1))


def _centred_ranks(counts: Counts) -> Values:
    """Return each distinct length's middle rank over the number of requests, less 1/2."""
    return np.asarray((np.cumsum(counts.requests) - counts.requests / 2) / counts.total - 0.5)


def _finder(counts: Counts, ranks: Values) -> Callable[[Tokens], Values]:
    """Return the function that finds requests' ranks: by a table of all lengths, or by search where one is absurd."""
    if counts.tokens[-1] > LONGEST_COUNTED:
        return lambda tokens: ranks[np.searchsorted(counts.tokens, tokens)]
    table = np.zeros(int(counts.tokens[-1]) + 1)
    table[counts.tokens] = ranks
    return lambda tokens: table[tokens]


def _rank(tokens: Tokens) -> Ranked:
    distinct, codes, requests = np.unique(tokens, return_inverse=True, return_counts=True)
    ranks = _centred_ranks(Counts(distinct.astype(np.int64), requests.astype(np.int64)))
    return Ranked(codes, ranks[codes], float(requests @ ranks**2) / tokens.size)


def _influence(first: Ranked, second: Ranked) -> Values:
    """Return each request's influence on the correlation: that of a ratio of three covariances of ranks."""
    scale = np.sqrt(first.variance * second.variance)
    if scale == 0:
        return np.zeros(first.ranks.size)
    covariance = float(first.ranks @ second.ranks) / first.ranks.size
    own = _covariance_influence(first, first) / first.variance + _covariance_influence(second, second) / second.variance
    return np.asarray((_covariance_influence(first, second) - covariance * own / 2) / scale)


def _covariance_influence(first: Ranked, second: Ranked) -> Values:
    """Return each request's influence on the mean product of ranks, through its own product and through all ranks."""
    product = first.ranks * second.ranks
    through_ranks = _raised_by(first, second) + _raised_by(second, first)
    return np.asarray(product + through_ranks - 3 * product.mean())


def _raised_by(lower: Ranked, others: Ranked) -> Values:
    """Return the mean of `others` ranks over requests that rank above each request by `lower`, equal ones by half."""
    sums = np.bincount(lower.codes, weights=others.ranks)
    above = sums.sum() - np.cumsum(sums) + sums / 2
    return np.asarray(above[lower.codes] / lower.codes.size)


def _interval(correlation: float, error: float, freedom: int) -> tuple[float, float]:
    if abs(correlation) > ALMOST_ONE:
        return correlation, correlation
    reach = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error / (1 - correlation**2)
    centre = float(np.arctanh(correlation))
    return float(np.tanh(centre - reach)), float(np.tanh(centre + reach))
