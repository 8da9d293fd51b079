"""The distribution of several values per request, such as inter-token latencies, pooled over requests.

Values of one request are clustered; what varies from request to request, in order of arrival, decides what is certain.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.distribution import Distribution, Interval, Part
from orchestrator.metrics.intervals.autoregression import Floats
from orchestrator.metrics.intervals.copula import normal_scores
from orchestrator.metrics.intervals.dependence import variance_inflation
from orchestrator.metrics.intervals.means import MIN_VALUES, mean_interval
from orchestrator.metrics.intervals.series import assemble, quantiles
from orchestrator.metrics.percentiles import LEVELS, finite

Indices = NDArray[np.int64]


def pooled_distribution(clusters: Sequence[Floats]) -> Distribution:
    """Summarise the values of all clusters, one cluster a request, in order of arrival; empty clusters do not count.

    Mean and percentiles are of all values alike. Their variance is that of a ratio of sums over clusters: each
    cluster's residual is a term of a dependent series, taken to be no less dependent than a Gaussian copula of the
    clusters' means implies. Below ten clusters a cluster counts as one value.
    Source: Cochran, Sampling Techniques (1977), sections 6.4 and 9.8 (ratio estimator, design effect of clusters).

    Raises:
        ValueError: a value is not finite.
    """
    filled = [one for one in clusters if one.size]
    if not filled:
        return assemble(np.empty(0), None, None, {}, {})
    sizes = np.array([one.size for one in filled], dtype=np.int64)
    values = finite(np.concatenate(filled))
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    if sizes.size < MIN_VALUES:
        lumped = values.size / sizes.size
        effects: dict[Part, float] = dict.fromkeys(LEVELS, lumped)
        return assemble(values, None, lumped, effects, effects)
    estimates = quantiles(values)
    totals = np.add.reduceat(values, starts)
    scores = normal_scores(totals / sizes)
    effects = {
        part: _effect_at(values <= estimates[part], starts, sizes=sizes, at_least=scores.indicator_inflation(p))
        for part, p in LEVELS.items()
    }
    residuals = totals - values.mean() * sizes
    effect = _design_effect(residuals, float(values.var()), sizes=sizes)
    independent = sizes.size / max(variance_inflation(residuals), scores.indicator_inflation(LEVELS["p50"]))
    mean = _mean_interval(values, residuals, sizes)
    return assemble(values, mean, effect, effects, effects, freedom=independent - 1.0)


def _effect_at(below: NDArray[np.bool_], starts: Indices, *, sizes: Indices, at_least: float) -> float:
    share = float(below.mean())
    residuals = np.add.reduceat(below.astype(np.float64), starts) - share * sizes
    return _design_effect(residuals, share * (1.0 - share), sizes=sizes, at_least=at_least)


def _design_effect(residuals: Floats, variance: float, *, sizes: Indices, at_least: float = 1.0) -> float:
    """Return the variance of the pooled figure over that of as many independent values, at least 1."""
    if variance <= 0.0:
        return 1.0
    inflation = max(variance_inflation(residuals), at_least)
    return max(1.0, float(residuals.var(ddof=1)) * inflation / (float(sizes.mean()) * variance))


def _mean_interval(values: Floats, residuals: Floats, sizes: Indices) -> Interval | None:
    around_zero = mean_interval(residuals / float(sizes.mean()))
    if around_zero is None:
        return None
    mean = float(values.mean())
    return Interval(low=mean + around_zero.low, high=mean + around_zero.high)
