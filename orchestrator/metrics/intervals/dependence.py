"""How much less a dependent series tells than as many independent values would: its variance inflation.

Inflation is the long-run variance over the plain one; count over inflation is the effective count. It is never taken
to be below 1: that a series tells more than independent values is not believed.
"""

import numpy as np

from orchestrator.metrics.intervals.autoregression import Floats, fit

MAX_BATCHES = 400  # an autoregression on so many batches spans long memory and costs little
WINDOWS = 20  # stretches that fit into the series; few, so that memory of a twentieth of it is still seen


def variance_inflation(series: Floats) -> float:
    """Estimate the long-run variance of a series in order of time over its plain variance, at least 1.

    The larger of two estimates: an autoregression's spectrum at zero on batch means, exact for short memory, and
    overlapping batch means of a twentieth of the series, which see memory that an autoregression misses. Each errs
    downwards at times; the larger covered the truth best (docs/DECISIONS.md).
    Source: Heidelberger & Welch (1981), Comm. ACM 24; Meketon & Schmeiser (1984), Proc. Winter Simulation Conf.
    """
    plain = float(series.var()) if series.size else 0.0
    if plain <= 0.0:
        return 1.0
    batches, size = batch_means(series)
    modelled = fit(batches).inflation * float(batches.var()) * size / plain
    return max(1.0, modelled, _overlapping(series) / plain)


def batch_means(series: Floats, *, most: int = MAX_BATCHES) -> tuple[Floats, int]:
    """Return the means of consecutive equal batches, at most about twice `most`, and the batches' size.

    What does not fill a batch is left out at the start, where a transient would be.
    """
    size = max(1, series.size // most)
    count = series.size // size
    return series[series.size - count * size :].reshape(count, size).mean(axis=1), size


def _overlapping(series: Floats) -> float:
    """Estimate the long-run variance by overlapping batch means; 0 where the series is too short for them."""
    n, size = series.size, series.size // WINDOWS
    if size < 2:  # noqa: PLR2004 - a batch of one sees no dependence
        return 0.0
    sums = np.concatenate(([0.0], np.cumsum(series - series.mean())))
    deviations = sums[size:] - sums[:-size]
    return float(deviations @ deviations) * n / (size * (n - size) * (n - size + 1))
