"""The percentile rule: a percentile is reported where the sample carries a confidence interval for it.

Never extrapolates beyond the sample and never turns an absent value into a number.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.measurement import Distribution

TAIL = 0.025  # each side of a two-sided 95 % interval
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def requests_needed(p: float) -> int:
    """Return the smallest sample whose order statistics bound quantile `p` on both sides at 95 %.

    The interval from the smallest to the largest of n independent values misses the quantile with
    probability p^n above and (1-p)^n below; neither may exceed 2.5 %.
    Source: Wilks (1941), Ann. Math. Statist. 12; David & Nagaraja, Order Statistics (2003), section 7.1.

    Raises:
        ValueError: `p` is not strictly between 0 and 1.
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"a quantile lies strictly between 0 and 1, seen {p}")
    return math.ceil(math.log(TAIL) / math.log(max(p, 1.0 - p)))


def quantile(values: Iterable[float], p: float) -> float | None:
    """Estimate quantile `p`, in the unit of the values; None where the sample is too thin.

    Estimator: linear interpolation between order statistics, type 7 of Hyndman & Fan (1996).

    Raises:
        ValueError: a value is not finite.
    """
    return _quantile(_finite(values), p)


def distribution(values: Iterable[float]) -> Distribution:
    """Summarise a sample by mean, percentiles and count, in the unit of the values.

    Raises:
        ValueError: a value is not finite.
    """
    sample = _finite(values)
    return Distribution(
        mean=float(sample.mean()) if sample.size else None,
        count=int(sample.size),
        **{name: _quantile(sample, p) for name, p in PERCENTILES.items()},
    )


def highest_percentile(count: int, *, at_most: float = 0.99) -> float | None:
    """Return the highest reported percentile that `count` values carry, as a fraction; None where none."""
    carried = [p for p in PERCENTILES.values() if p <= at_most and requests_needed(p) <= count]
    return max(carried, default=None)


def _finite(values: Iterable[float]) -> NDArray[np.float64]:
    sample = np.fromiter(values, dtype=np.float64)
    if not np.isfinite(sample).all():
        raise ValueError(f"a sample holds finite values only, seen {sample[~np.isfinite(sample)][0]}")
    return sample


def _quantile(sample: NDArray[np.float64], p: float) -> float | None:
    if sample.size < requests_needed(p):
        return None
    return float(np.quantile(sample, p, method="linear"))
