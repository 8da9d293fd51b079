"""Laws of gaps that come in no order, by maximum likelihood: three single laws, and that of an on/off process."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from workloads.profile.arrivals.counts import Floats

EM_ROUNDS = 60
SHAPE_LIMITS = (0.02, 200.0)
MIN_WEIGHT = 1e-9
MAX_LOG = 100.0


class GapLaw(NamedTuple):
    """One fitted law: its free parameters, its log-likelihood, and the coefficient of variation it implies."""

    shape: float
    num_parameters: int
    log_likelihood: float
    cv: float

    def bic(self, num_gaps: int) -> float:
        """Return Schwarz's criterion; lower is better."""
        return float(self.num_parameters * np.log(num_gaps) - 2.0 * self.log_likelihood)


class Interrupted(NamedTuple):
    """Poisson arrivals of one rate that are switched on and off; stays are exponential."""

    law: GapLaw
    rate_rps: float
    on_s: float
    off_s: float

    @property
    def arrivals_per_stay(self) -> float:
        """Return the mean number of arrivals in one stay."""
        return self.rate_rps * self.on_s


def fit_gamma(gaps_s: Floats) -> GapLaw:
    """Fit a gamma law to gaps above 0, seconds."""
    mean, mean_log = float(gaps_s.mean()), float(np.log(gaps_s).mean())
    spread = np.log(mean) - mean_log
    shape = _solve(lambda shape: np.log(shape) - special.digamma(shape) - spread)
    per_gap = (shape - 1) * mean_log - shape - special.gammaln(shape) - shape * np.log(mean / shape)
    return GapLaw(shape, 2, float(per_gap) * gaps_s.size, shape**-0.5)


def fit_weibull(gaps_s: Floats) -> GapLaw:
    """Fit a Weibull law to gaps above 0, seconds."""
    logs = np.log(gaps_s)
    logs -= logs.max()
    shape = _solve(lambda shape: 1.0 / shape + logs.mean() - np.average(logs, weights=np.exp(shape * logs)))
    scale_log = float(np.log(np.mean(np.exp(shape * logs))) / shape)
    per_gap = np.log(shape) - scale_log + (shape - 1) * (logs.mean() - scale_log) - 1.0 - np.log(gaps_s.max())
    moments = special.gamma(1 + 1 / shape), special.gamma(1 + 2 / shape)
    return GapLaw(shape, 2, float(per_gap) * gaps_s.size, float(np.sqrt(moments[1] / moments[0] ** 2 - 1)))


def fit_lognormal(gaps_s: Floats) -> GapLaw:
    """Fit a lognormal law to gaps above 0, seconds; its shape is the deviation of the logs."""
    logs = np.log(gaps_s)
    shape = max(float(logs.std()), SHAPE_LIMITS[0])
    per_gap = -logs.mean() - np.log(shape) - 0.5 * np.log(2 * np.pi) - 0.5
    return GapLaw(shape, 2, float(per_gap) * gaps_s.size, float(np.sqrt(np.expm1(min(shape**2, MAX_LOG)))))


def fit_interrupted(gaps_s: Floats) -> Interrupted:
    """Fit an interrupted Poisson process through its gaps, which are a mixture of two exponentials.

    Expectation-maximisation on the mixture; the process from it as in Fischer & Meier-Hellstern, The MMPP Cookbook,
    Performance Evaluation 18 (1993), section 3.
    """
    mean = gaps_s.mean()
    weight, rates = 0.5, np.array([3.0, 0.3]) / mean
    for _ in range(EM_ROUNDS):
        densities = np.array([[weight], [1 - weight]]) * rates[:, None] * np.exp(-rates[:, None] * gaps_s)
        shares = densities[0] / np.maximum(densities.sum(axis=0), np.finfo(float).tiny)
        weight = float(np.clip(shares.mean(), MIN_WEIGHT, 1 - MIN_WEIGHT))
        sums = np.array([shares @ gaps_s, (1 - shares) @ gaps_s])
        rates = np.array([weight, 1 - weight]) * gaps_s.size / np.maximum(sums, MIN_WEIGHT * mean)
    return _interrupted(weight, rates, gaps_s)


def _interrupted(weight: float, rates: Floats, gaps_s: Floats) -> Interrupted:
    densities = np.array([[weight], [1 - weight]]) * rates[:, None] * np.exp(-rates[:, None] * gaps_s)
    log_likelihood = float(np.log(np.maximum(densities.sum(axis=0), np.finfo(float).tiny)).sum())
    rate = weight * rates[0] + (1 - weight) * rates[1]
    leaves_on = weight * (1 - weight) * (rates[0] - rates[1]) ** 2 / rate
    first = weight / rates[0] + (1 - weight) / rates[1]
    second = 2 * (weight / rates[0] ** 2 + (1 - weight) / rates[1] ** 2)
    law = GapLaw(weight, 3, log_likelihood, float(np.sqrt(second / first**2 - 1)))
    return Interrupted(law, float(rate), float(1 / max(leaves_on, MIN_WEIGHT)), float(rate / (rates[0] * rates[1])))


def _solve(falling: Callable[[float], float]) -> float:
    """Find the shape at which a falling function of it is 0, inside `SHAPE_LIMITS`."""
    low, high = SHAPE_LIMITS
    if falling(low) <= 0 or falling(high) >= 0:
        return low if falling(low) <= 0 else high
    return float(optimize.brentq(falling, low, high))
