"""Two accounts of a rate that changes, weighed by their likelihood on the same counts: it drifts, or it switches.

Drift: Harvey & Fernandes, Time series models for count or qualitative observations, JBES 7 (1989), section 2: what is
known of the rate is discounted by one factor a bin. Switching: a two-state hidden Markov model of Poisson counts
(Zucchini & MacDonald, Hidden Markov Models for Time Series, 2009, chapter 2), which is a two-state MMPP seen in bins.
"""

from typing import NamedTuple

import numpy as np
from scipy import signal, special

from workloads.profile.arrivals.counts import Floats
from workloads.profile.arrivals.search import minimise

FORGETTING = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)
PRIOR_BINS = 0.01
MAX_EVALUATIONS = 200


class Drift(NamedTuple):
    """The rate drifts: what is known of it lasts `memory_arrivals`."""

    log_likelihood: float
    memory_arrivals: float
    num_parameters: int = 1


class Switching(NamedTuple):
    """The rate switches between two: counts a bin, and chances a bin to leave either state.

    Stays shorter than a bin are missed, so that stays come out too long: by 10 to 20 % where they last ten to twenty
    bins (simulated).
    """

    log_likelihood: float
    counts_per_bin: tuple[float, float]
    leaving: tuple[float, float]
    num_parameters: int = 4


def constant_log_likelihood(counts: Floats) -> float:
    """Return the log-likelihood of Poisson counts of one mean."""
    mean = counts.mean()
    return float((counts * np.log(mean) - mean - special.gammaln(counts + 1)).sum())


def fit_drift(counts: Floats) -> Drift:
    """Fit the drifting rate: the discount is the best of `FORGETTING`."""
    likelihoods = [_drift_log_likelihood(counts, 1.0 - forgetting) for forgetting in FORGETTING]
    best = int(np.argmax(likelihoods))
    return Drift(likelihoods[best], float(counts.mean()) / FORGETTING[best])


def fit_switching(counts: Floats) -> Switching:
    """Fit the two states by maximum likelihood (Nelder & Mead's search over logs and logits)."""
    found = minimise(
        lambda point: -_switching_log_likelihood(counts, point),
        _begin_switching(counts),
        [0.2, 0.2, 0.5, 0.5],
        evaluations=MAX_EVALUATIONS,
        tolerance=0.1,
    )
    constant = float(special.gammaln(counts + 1).sum())
    rates, leaving = np.exp(found.point[:2]), special.expit(found.point[2:])
    order = np.argsort(rates)
    return Switching(-found.value - constant, _pair(rates[order]), _pair(leaving[order]))


def _begin_switching(counts: Floats) -> list[float]:
    """Start where counts above their mean are the one state: logs of means, logits of the chances to leave."""
    is_high = counts > counts.mean()
    stays = np.array([np.sum(~is_high), np.sum(is_high)]) + 1.0
    leaving = (0.5 + np.count_nonzero(np.diff(is_high)) / 2) / stays
    means = [(counts[state].sum() + 0.1) / (state.sum() + 0.1) for state in (~is_high, is_high)]
    return [*np.log(means).tolist(), *special.logit(np.clip(leaving, 0.001, 0.5)).tolist()]


def _drift_log_likelihood(counts: Floats, discount: float) -> float:
    """Sum the one-step predictions, which are negative binomial (eqs. 2.4 to 2.9 of the paper)."""
    shape, weight = _discounted(counts, discount), _discounted(np.ones_like(counts), discount)
    shape += PRIOR_BINS * counts.mean()
    weight += PRIOR_BINS
    terms = special.gammaln(shape + counts) - special.gammaln(shape) - special.gammaln(counts + 1)
    terms += shape * np.log(weight / (1 + weight)) - counts * np.log1p(weight)
    return float(terms.sum())


def _discounted(values: Floats, discount: float) -> Floats:
    sums = signal.lfilter([discount], [1.0, -discount], values)
    return np.concatenate([np.zeros(1), sums[:-1]])


def _switching_log_likelihood(counts: Floats, point: Floats) -> float:
    """Return the log-likelihood less its constant: the product of one 2 x 2 matrix a bin, multiplied in pairs."""
    log_rates, (up, down) = point[:2, None], special.expit(point[2:])
    emission_logs = counts * log_rates - np.exp(log_rates)
    peaks = emission_logs.max(axis=0)
    moves = np.array([[1 - up, up], [down, 1 - down]])
    product, log_scale = _multiply(np.exp(emission_logs - peaks)[:, None, :] * moves[:, :, None])
    total = float(np.array([down, up]) @ product.sum(axis=1)) / float(up + down)
    return float(np.log(max(total, np.finfo(float).tiny))) + log_scale + float(peaks.sum())


def _multiply(matrices: Floats) -> tuple[Floats, float]:
    """Multiply a chain of 2 x 2 matrices, its last axis, in order: a matrix of peak 1, and the log of its scale."""
    log_scale = 0.0
    while matrices.shape[2] > 1:
        if matrices.shape[2] % 2:
            matrices = np.concatenate([matrices, np.eye(2)[:, :, None]], axis=2)
        left, right = matrices[:, :, 0::2], matrices[:, :, 1::2]
        matrices = left[:, :1] * right[None, 0] + left[:, 1:] * right[None, 1]
        scales = np.maximum(matrices.max(axis=(0, 1)), np.finfo(float).tiny)
        matrices /= scales
        log_scale += float(np.log(scales).sum())
    return matrices[:, :, 0], log_scale


def _pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])
