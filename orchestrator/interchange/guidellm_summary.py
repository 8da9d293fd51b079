"""GuideLLM's summary of a sample: weighted, with every percentile, of whatever size.

A percentile there is the smallest value whose share of the weight, it and all below it, is at least p. A sample without
values is what that tool writes for one: zeros, and a count of 0. Source: GuideLLM 0.8.1, `schemas/base/statistics.py`.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

PERCENTILES = {
    "p001": 0.001,
    "p01": 0.01,
    "p05": 0.05,
    "p10": 0.1,
    "p25": 0.25,
    "p50": 0.5,
    "p75": 0.75,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
}
FIGURES = ("mean", "median", "mode", "variance", "std_dev", "min", "max", "count", "total_sum")
MERGED_S = 1e-4  # events nearer than this are one
Summary = dict[str, object]
Values = NDArray[np.float64]


def by_status(successful: Summary) -> Summary:
    """Spell a summary of the requests that ended well; nothing is said of the others."""
    nothing = summary(())
    return {"successful": successful, "incomplete": nothing, "errored": nothing, "total": successful}


def summary(
    values: Iterable[float | None], weights: Iterable[float] | None = None, *, count: int | None = None
) -> Summary:
    """Summarise values, each counting by its weight, 1 where none is given; None and weights of 0 are left out."""
    listed = list(values)
    given = [1.0] * len(listed) if weights is None else list(weights)
    pairs = sorted(
        (value, weight) for value, weight in zip(listed, given, strict=True) if value is not None and weight > 0
    )
    if not pairs:
        return {**dict.fromkeys(FIGURES, 0), "percentiles": dict.fromkeys(PERCENTILES, 0.0)}
    found, places = np.unique([value for value, _ in pairs], return_inverse=True)
    sums: Values = np.bincount(places, weights=[weight for _, weight in pairs]).astype(np.float64)
    total = count if count is not None else round(float(sums.sum()))
    return _figures(found, sums / sums.sum(), total)


def rates(events: Sequence[tuple[float, float]], start_s: float, end_s: float) -> Summary:
    """Summarise rates over time: each event's amount over the time around it, which is also its weight."""
    inside = sorted((at, amount) for at, amount in events if start_s <= at <= end_s)
    merged: list[list[float]] = []
    for at, amount in [(start_s, 0.0), *inside, (end_s, 0.0)]:
        if merged and at - merged[-1][0] <= MERGED_S:
            merged[-1][1] += amount
        else:
            merged.append([at, amount])
    if len(merged) < 2:  # noqa: PLR2004 - a rate needs two times
        return summary(())
    times = np.array([at for at, _ in merged])
    edges = np.concatenate([times[:1], (times[1:] + times[:-1]) / 2, times[-1:]])
    spans = np.diff(edges)
    amounts = np.array([amount for _, amount in merged])
    return summary((amounts / spans).tolist(), spans.tolist(), count=round(float(amounts.sum())))


def concurrency(spans: Sequence[tuple[float, float]], start_s: float, end_s: float) -> Summary:
    """Summarise how many spans overlap, over the time from start to end."""
    changes = sorted([*((at, 1) for at, _ in spans), *((at, -1) for _, at in spans)])
    levels, lengths, level, since_s = [], [], 0, start_s
    for at, change in changes:
        upto_s = min(max(at, start_s), end_s)
        levels.append(float(level))
        lengths.append(upto_s - since_s)
        level, since_s = level + change, upto_s
    return summary([*levels, float(level)], [*lengths, end_s - since_s], count=len(spans))


def _figures(values: Values, shares: Values, count: int) -> Summary:
    mean = float(np.sum(values * shares))
    variance = float(np.sum((values - mean) ** 2 * shares))
    reached = np.cumsum(shares)
    percentiles = {
        name: float(values[min(int(np.searchsorted(reached, level)), values.size - 1)])
        for name, level in PERCENTILES.items()
    }
    return {
        "mean": mean,
        "median": percentiles["p50"],
        "mode": float(values[int(np.argmax(shares))]),
        "variance": variance,
        "std_dev": variance**0.5,
        "min": float(values[0]),
        "max": float(values[-1]),
        "count": count,
        "total_sum": mean * count,
        "percentiles": percentiles,
    }
