"""Distribution-free intervals of a quantile and of a share, from as many independent values as a series is worth."""

import math

import numpy as np
import scipy

from orchestrator.domain.distribution import Interval
from orchestrator.metrics.intervals.autoregression import Floats

TAIL = 0.025
MIN_FREEDOM = 3.0


def quantile_interval(ordered: Floats, p: float, *, effective: float, freedom: float = math.inf) -> Interval:
    """Return the 95 % interval of quantile `p` from at least one sorted value, in their unit.

    Its ends are order statistics, interpolated, at the levels that bound the quantile among `effective` independent
    values; where those lie beyond the sample, its smallest or largest value. The levels are widened as Student's t
    is against the normal, with twice as many degrees of freedom as effective values on the thinner side, at most
    `freedom`, since the effective count is itself estimated.
    Source: Hutson (1999), J. Appl. Statist. 26; David & Nagaraja, Order Statistics (2003), section 7.1.
    """
    tail = estimated_tail(min(freedom, 2.0 * effective * min(p, 1.0 - p)))
    low = (1.0 + _successes(tail, effective, p, otherwise=-1.0)) / (effective + 1.0)
    high = (1.0 + _successes(1.0 - tail, effective, p, otherwise=effective)) / (effective + 1.0)
    middle = float(np.quantile(ordered, p))
    return Interval(low=min(_at(ordered, low), middle), high=max(_at(ordered, high), middle))


def share_interval(successes: float, *, effective: float) -> Interval:
    """Return the 95 % interval of a share from `successes` of `effective` > 0 independent trials; fractions will do.

    Source: Clopper & Pearson (1934), Biometrika 26.
    """
    failures = effective - successes
    low = scipy.special.betaincinv(successes, failures + 1.0, TAIL) if successes > 0.0 else 0.0
    high = scipy.special.betaincinv(successes + 1.0, failures, 1.0 - TAIL) if failures > 0.0 else 1.0
    return Interval(low=float(low), high=float(high))


def estimated_tail(freedom: float) -> float:
    """Return the tail probability under the normal that is 2.5 % under Student's t of `freedom` degrees."""
    return float(scipy.special.ndtr(scipy.special.stdtrit(max(freedom, MIN_FREEDOM), TAIL)))


def _successes(probability: float, trials: float, p: float, *, otherwise: float) -> float:
    """Return the binomial quantile, continuous in its arguments; `otherwise` where it would lie below zero."""
    found = float(scipy.special.bdtrik(probability, trials, p))
    return found if math.isfinite(found) else otherwise


def _at(ordered: Floats, level: float) -> float:
    position = min(max((ordered.size + 1) * level - 1.0, 0.0), ordered.size - 1.0)
    below = math.floor(position)
    above = min(below + 1, ordered.size - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (position - below))
