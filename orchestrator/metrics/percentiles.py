"""The percentile rule for independent values: a percentile is reported where the sample carries an interval for it.

Never extrapolates beyond the sample and never turns an absent value into a number. Values that depend on each other in
time are `orchestrator/metrics/intervals/`'s.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.distribution import Distribution, Part

TAIL = 0.025  # each side of a two-sided 95 % interval
LEVELS: dict[Part, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
PERCENTILES: dict[str, float] = {str(part): p for part, p in LEVELS.items()}


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
    return _quantile(finite(values), p)


def distribution(values: Iterable[float]) -> Distribution:
    """Summarise a sample by mean, percentiles and count, in the unit of the values, as if they were independent.

    Raises:
        ValueError: a value is not finite.
    """
    sample = finite(values)
    return Distribution(
        mean=float(sample.mean()) if sample.size else None,
        count=int(sample.size),
        p50=_quantile(sample, LEVELS["p50"]),
        p90=_quantile(sample, LEVELS["p90"]),
        p95=_quantile(sample, LEVELS["p95"]),
        p99=_quantile(sample, LEVELS["p99"]),
        p999=_quantile(sample, LEVELS["p999"]),
    )


def highest_percentile(count: int, *, at_most: float = 0.99) -> float | None:
    """Return the highest reported percentile that `count` values carry, as a fraction; None where none."""
    carried = [p for p in LEVELS.values() if p <= at_most and requests_needed(p) <= count]
    return max(carried, default=None)


def finite(values: Iterable[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values as an array.

    Raises:
        ValueError: a value is not finite.
    """
    sample = values if isinstance(values, np.ndarray) else np.fromiter(values, dtype=np.float64)
    if not np.isfinite(sample).all():
        raise ValueError(f"a sample holds finite values only, seen {sample[~np.isfinite(sample)][0]}")
    return sample


def _quantile(sample: NDArray[np.float64], p: float) -> float | None:
    if sample.size < requests_needed(p):
        return None
    return float(np.quantile(sample, p, method="linear"))
