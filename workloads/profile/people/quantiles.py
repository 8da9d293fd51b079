"""Quantiles of session figures: as a summary for the page, and as a model to draw from."""

import numpy as np
from numpy.typing import NDArray

from workloads.model import QuantileLengths
from workloads.profile.people.model import Quantiles

PROBABILITIES = tuple(float(one) for one in np.round(np.append(np.linspace(0, 0.99, 100), [0.995, 0.999, 1.0]), 3))


def summarise(values: NDArray[np.float64]) -> Quantiles:
    """Summarise at least one value; percentiles interpolate linearly between order statistics."""
    p50, p90, p99 = (float(one) for one in np.percentile(values, [50, 90, 99]))
    return Quantiles(mean=float(values.mean()), p50=p50, p90=p90, p99=p99, max=float(values.max()))


def fit_quantiles(values: NDArray[np.float64]) -> QuantileLengths:
    """Take the quantiles of at least one value, from 0 to 1, as the model."""
    tokens = np.maximum.accumulate(np.quantile(values, PROBABILITIES))
    return QuantileLengths(probabilities=PROBABILITIES, tokens=tuple(tokens.tolist()))
