"""Lengths drawn by inverse transform, input and output joined by a Gaussian copula.

Draws are stratified: each thousand consecutive requests hold one draw of each thousandth of the distribution, in an
order by chance, so that even short traffic has the model's quantiles. A longer draw begins with the shorter one.
"""

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from workloads.model import FamilyLengths, LengthModel, QuantileLengths, TrafficModel
from workloads.model.families import quantile
from workloads.streams import StreamName, open_stream, uniforms

STRATA = 1000
PIECE = 1000 * STRATA
SMALLEST_DRAW = 2.0**-54
INT32_MAX = 2**31 - 1
MEAN_POINTS = 10_000
Tokens = NDArray[np.int32]


def draw_lengths(model: TrafficModel, count: int, *, seed: int, scope: str = "") -> tuple[Tokens, Tokens]:
    """Draw input lengths (at least 1) and output lengths (at least 0), int32 tokens, of `count` requests.

    The copula's correlation is 2 sin(pi r / 6) for a rank correlation of r (Pearson 1907). Only the order of its
    draws is used, so both lengths keep their stratified distributions.
    """
    rho = 2 * math.sin(math.pi * model.dependence.rank_correlation / 6)
    whole = -(-count // STRATA) * STRATA
    inputs, outputs = np.empty(whole, np.int32), np.empty(whole, np.int32)
    names: tuple[StreamName, ...] = ("input_lengths", "input_jitter", "output_lengths", "output_jitter")
    first, first_jitter, second, second_jitter = (open_stream(seed, name, scope=scope) for name in names)
    for start in range(0, whole, PIECE):
        piece = slice(start, min(start + PIECE, whole))
        size = piece.stop - start
        draws = first.random(size)
        inputs[piece] = whole_tokens(model.input_tokens, stratify(draws, first_jitter.random(size)), lowest=1)
        scores = _join(draws, second.random(size), rho)
        outputs[piece] = whole_tokens(model.output_tokens, stratify(scores, second_jitter.random(size)), lowest=0)
    return inputs[:count], outputs[:count]


def draw_values(
    lengths: LengthModel, count: int, stream: StreamName, *, seed: int, scope: str = ""
) -> NDArray[np.float64]:
    """Draw `count` values of a distribution, not rounded: think times too are given as lengths."""
    return lengths_at(lengths, uniforms(seed, stream, count, scope=scope))


def lengths_at(lengths: LengthModel, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths at probabilities in [0, 1]: the inverse of the distribution function."""
    match lengths:
        case QuantileLengths():
            return np.interp(probabilities, lengths.probabilities, lengths.tokens)
        case FamilyLengths():
            return np.clip(quantile(lengths.family, lengths.parameters, probabilities), lengths.min, lengths.max)


def whole_tokens(lengths: LengthModel, probabilities: NDArray[np.float64], *, lowest: int) -> Tokens:
    """Return whole lengths at probabilities, int32, at least `lowest`."""
    return np.clip(np.rint(lengths_at(lengths, probabilities)), lowest, INT32_MAX).astype(np.int32)


def mean_of(lengths: LengthModel, *, lowest: int = 0) -> float:
    """Return the mean of whole lengths, at least `lowest`, over 10,000 equal shares of the distribution."""
    middles = (np.arange(MEAN_POINTS) + 0.5) / MEAN_POINTS
    return float(np.maximum(np.rint(lengths_at(lengths, middles)), lowest).mean())


def stratify(scores: NDArray[np.float64], jitter: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn scores, whole thousands of them, into probabilities: rank in its thousand plus jitter, over a thousand."""
    order = np.argsort(scores.reshape(-1, STRATA), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(STRATA), order.shape), axis=1)
    probabilities = ranks.reshape(-1) + jitter
    probabilities /= STRATA
    return np.minimum(probabilities, 1.0, out=probabilities)


def _join(draws: NDArray[np.float64], others: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    if rho == 0.0:
        return others
    normals = scipy.special.ndtri(np.maximum(draws, SMALLEST_DRAW))
    rest = scipy.special.ndtri(np.maximum(others, SMALLEST_DRAW))
    return np.asarray(rho * normals + math.sqrt(max(0.0, 1 - rho**2)) * rest)
