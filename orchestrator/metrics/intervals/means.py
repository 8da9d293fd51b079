"""The interval of a mean of values that depend on each other in time and may be skewed."""

import numpy as np
import scipy

from orchestrator.domain.distribution import Interval
from orchestrator.metrics.intervals.autoregression import Floats
from orchestrator.metrics.intervals.dependence import variance_inflation
from orchestrator.metrics.intervals.order_statistics import MIN_FREEDOM, TAIL

MIN_VALUES = 10  # fewer say next to nothing of their own spread and dependence
SKEW_BLOCKS = 30  # long enough to be nearly independent, enough to show a skew
MIN_BLOCK = 2
NO_SKEW = 1e-6


def mean_interval(series: Floats, *, inflation: float | None = None) -> Interval | None:
    """Return the 95 % interval of the mean of values in order of time; None below ten and where nothing varied.

    The mean over its standard error from the long-run variance, with Student's t of half the effective count (the
    variance of an autoregressive estimate of the spectrum at zero), made symmetric by Hall's transformation with the
    skewness of block means.
    Source: Hall (1992), J. R. Statist. Soc. B 54; Berk (1974), Ann. Statist. 2.
    """
    n = series.size
    variance = float(series.var(ddof=1)) if n >= MIN_VALUES else 0.0
    if variance <= 0.0:
        return None
    factor = variance_inflation(series) if inflation is None else inflation
    error = float(np.sqrt(variance * factor / n))
    freedom = n - 1.0 if factor == 1.0 else max(n / factor / 2.0, MIN_FREEDOM)
    reach = float(scipy.special.stdtrit(freedom, 1.0 - TAIL))
    skew, mean = _skew_of_mean(series), float(series.mean())
    return Interval(low=mean - error * _unskewed(reach, skew), high=mean - error * _unskewed(-reach, skew))


def _unskewed(at: float, skew: float) -> float:
    """Invert Hall's transformation t + g t^2 / 3 + g^2 t^3 / 27 + g / 6, g the skewness of the mean."""
    if abs(skew) < NO_SKEW:
        return at
    return float(3.0 / skew * (np.cbrt(1.0 + skew * (at - skew / 6.0)) - 1.0))


def _skew_of_mean(series: Floats) -> float:
    """Return the skewness of the mean: that of block means over the root of their number."""
    size = max(1, series.size // SKEW_BLOCKS)
    count = series.size // size
    blocks = series[series.size - count * size :].reshape(count, size).mean(axis=1)
    deviations = blocks - blocks.mean()
    spread = float((deviations**2).mean())
    return float((deviations**3).mean()) / spread**1.5 / float(np.sqrt(count)) if spread > 0.0 else 0.0
