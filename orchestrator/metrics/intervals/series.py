"""The distribution of one value per request, in order of arrival, with what its dependence in time leaves certain."""

import math
from collections.abc import Mapping

import numpy as np

from orchestrator.domain.distribution import Distribution, Interval, Part
from orchestrator.metrics.intervals.autoregression import Floats
from orchestrator.metrics.intervals.copula import normal_scores
from orchestrator.metrics.intervals.dependence import variance_inflation
from orchestrator.metrics.intervals.means import mean_interval
from orchestrator.metrics.intervals.order_statistics import quantile_interval
from orchestrator.metrics.percentiles import LEVELS, finite, requests_needed

MIN_BEYOND = 10  # values beyond a quantile; fewer do not show how they cluster
ENOUGH_BEYOND = 20


def series_distribution(values: Floats) -> Distribution:
    """Summarise values in order of time by mean, percentiles, their 95 % intervals and the effective count.

    A percentile is withheld where the effective count at it lies below `requests_needed`; `needed` then says how many
    values would carry it at this dependence.

    Raises:
        ValueError: a value is not finite.
    """
    series = finite(values)
    if not series.size:
        return assemble(series, None, None, {}, {})
    inflation = variance_inflation(series)
    bounds, thinnings = percentile_inflations(series)
    return assemble(series, mean_interval(series, inflation=inflation), inflation, bounds, thinnings)


def assemble(
    values: Floats,
    mean: Interval | None,
    inflation: float | None,
    bounds: Mapping[Part, float],
    thinnings: Mapping[Part, float],
    *,
    freedom: float = math.inf,
) -> Distribution:
    """Put a distribution together from its values, the mean's interval and inflation, and the percentiles' inflations.

    `bounds` are those that intervals are made with; `thinnings`, at least as large, decide what is withheld. The
    inflations have at most `freedom` degrees of freedom.
    """
    ordered, n = np.sort(values), values.size
    carried = {part for part in bounds if n / thinnings[part] >= requests_needed(LEVELS[part])}
    found = quantiles(ordered) if n else {}
    intervals: dict[Part, Interval] = {} if mean is None else {"mean": mean}
    for part, p in LEVELS.items():
        if part in carried:
            intervals[part] = quantile_interval(ordered, p, effective=n / bounds[part], freedom=freedom)
    return Distribution(
        mean=float(values.mean()) if n else None,
        p50=found["p50"] if "p50" in carried else None,
        p90=found["p90"] if "p90" in carried else None,
        p95=found["p95"] if "p95" in carried else None,
        p99=found["p99"] if "p99" in carried else None,
        p999=found["p999"] if "p999" in carried else None,
        count=n,
        effective_count=None if inflation is None else n / inflation,
        intervals=intervals,
        needed={
            part: math.ceil(requests_needed(p) * thinnings.get(part, 1.0))
            for part, p in LEVELS.items()
            if part not in carried
        },
    )


def quantiles(values: Floats) -> dict[Part, float]:
    """Estimate every published percentile of at least one value, as `percentiles.quantile` does."""
    found = np.quantile(values, list(LEVELS.values()), method="linear")
    return dict(zip(LEVELS, found.tolist(), strict=True))


def percentile_inflations(series: Floats) -> tuple[dict[Part, float], dict[Part, float]]:
    """Estimate the variance inflation at each percentile: for its interval, and, more strictly, for withholding it.

    The larger of what a Gaussian copula implies and what the indicator of lying below the percentile shows itself.
    Where lower percentiles show themselves more dependent than the copula has it, as in a queue, whose long waits come
    together, a higher one is withheld as if it were so too: too few of its own values speak for it.
    """
    scores, estimates, excess = normal_scores(series), quantiles(series), 1.0
    bounds: dict[Part, float] = {}
    thinnings: dict[Part, float] = {}
    for part, p in LEVELS.items():
        implied = scores.indicator_inflation(p)
        shown = _shown(series, p, estimates[part])
        bounds[part] = max(implied, shown)
        thinnings[part] = max(implied * excess, shown)
        if series.size * (1.0 - p) >= ENOUGH_BEYOND:
            excess = max(excess, shown / implied)
    return bounds, thinnings


def _shown(series: Floats, p: float, estimate: float) -> float:
    if series.size * min(p, 1.0 - p) < MIN_BEYOND:
        return 1.0
    return variance_inflation((series <= estimate).astype(np.float64))
