"""Telemetry as timed metrics: thinned for a page, extremes kept; the whole series stays in Parquet."""

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.study_record import TrialEvidence
from orchestrator.domain.telemetry import Series
from orchestrator.tracking.operations import Point

POINTS_PER_LOAD = 50
PREFIX = "telemetry/"
_NS_PER_MS = NS_PER_S // 1000


def telemetry_points(evidence: TrialEvidence, *, points_per_load: int = POINTS_PER_LOAD) -> tuple[Point, ...]:
    """List every series' points; the step is milliseconds since the first sample of the deployment."""
    series = [one for one in evidence.telemetry.series if one.times_ns.size]
    if not series:
        return ()
    origin_ns = min(int(one.times_ns[0]) for one in series)
    limit = points_per_load * max(1, len(evidence.spans))
    return tuple(
        Point(
            name=f"{PREFIX}{one.name}",
            value=float(one.values[index]),
            step=(int(one.times_ns[index]) - origin_ns) // _NS_PER_MS,
            time_ms=(int(one.times_ns[index]) + evidence.wall_offset_ns) // _NS_PER_MS,
        )
        for one in series
        for index in thin(one, limit)
    )


def thin(series: Series, limit: int) -> NDArray[np.int64]:
    """Choose at most `limit` finite samples, evenly in order, the smallest and the largest among them."""
    finite = np.flatnonzero(np.isfinite(series.values)).astype(np.int64)
    if finite.size <= limit:
        return finite
    even = finite[np.linspace(0, finite.size - 1, max(limit - 2, 2)).round().astype(np.int64)]
    values = series.values[finite]
    extremes = np.array([finite[values.argmin()], finite[values.argmax()]], dtype=np.int64)
    return np.unique(np.concatenate([even, extremes]))
