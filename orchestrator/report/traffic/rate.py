"""The arrival rate over time, with the band that a constant rate would stay in and the change points."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from orchestrator.report.canvas import GREY, PALETTE, from_zero, style
from orchestrator.report.traffic.picture import Absent, TimeUnit, time_unit, wide
from workloads.model import PiecewiseArrivals
from workloads.profile.arrivals.model import ChangePoint
from workloads.profile.model import TraceProfile
from workloads.trace import NS_PER_S, Trace

MAX_BINS = 300
MIN_BINS = 4
MIN_CELLS_PER_BIN = 10
BAND = (0.025, 0.975)
BINS_S = (0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)


class _Counted(NamedTuple):
    bin_s: float
    counts: NDArray[np.int64]


def draw_rate(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:
    """Draw requests per second over time; without the trace's rows, the profile's own curve alone."""
    curve = _curve(profile)
    counted = _count(profile, trace) if trace is not None else None
    if counted is None and curve is None:
        return Absent("the trace is too short for a rate over time")
    unit = time_unit(profile.span_s)
    with style():
        made = wide(f"Arrival rate over time · n = {profile.num_requests:,} requests")
        axes = made.subplots()
        if counted is not None:
            _draw_counts(axes, counted, unit)
        _draw_levels(axes, profile, unit)
        if curve is not None and counted is None:
            _draw_curve(axes, curve, profile.rate_rps or 0.0, unit)
        axes.set_xlabel(f"time since the first request ({unit.name})")
        axes.set_ylabel("requests/s")
        axes.set_xlim(0, profile.span_s / unit.seconds)
        from_zero(axes)
        made.legend(loc="outside lower left", ncols=3)
    return made


def choose_bin_s(span_s: float, grid_s: float) -> float | None:
    """Choose the finest bin that gives at most 300 bins, each of at least ten time steps; None for fewer than four."""
    fits = (one for one in BINS_S if span_s / one <= MAX_BINS and one >= MIN_CELLS_PER_BIN * grid_s)
    bin_s = next(fits, BINS_S[-1])
    return bin_s if span_s / bin_s >= MIN_BINS else None


def _count(profile: TraceProfile, trace: Trace) -> _Counted | None:
    """Count arrivals in bins; the last, partly covered one is left out."""
    bin_s = choose_bin_s(profile.span_s, profile.arrivals.grid_s)
    if bin_s is None:
        return None
    bin_ns = round(bin_s * NS_PER_S)
    num_bins = trace.span_ns // bin_ns
    return _Counted(bin_s, np.bincount(trace.arrival_ns // bin_ns, minlength=num_bins)[:num_bins])


def _curve(profile: TraceProfile) -> PiecewiseArrivals | None:
    curve = profile.arrivals.curve
    is_drawn = isinstance(curve, PiecewiseArrivals) and len(curve.weights) >= MIN_BINS and profile.rate_rps is not None
    return curve if is_drawn and isinstance(curve, PiecewiseArrivals) else None


def _draw_counts(axes: Axes, counted: _Counted, unit: TimeUnit) -> None:
    edges = np.arange(counted.counts.size + 1) * counted.bin_s / unit.seconds
    low, high = (float(stats.poisson.ppf(share, counted.counts.mean())) / counted.bin_s for share in BAND)
    axes.axhspan(low, high, color=GREY, alpha=0.25, lw=0, label="95 % of bins at a constant rate, by chance alone")
    label = f"counted in bins of {counted.bin_s:g} s"
    axes.stairs(counted.counts / counted.bin_s, edges, color=PALETTE[0], lw=1.0, baseline=None, label=label)


def _draw_levels(axes: Axes, profile: TraceProfile, unit: TimeUnit) -> None:
    points = profile.arrivals.change_points
    if not points:
        if profile.rate_rps is not None:
            axes.axhline(profile.rate_rps, color=PALETTE[1], label="mean rate (no change points)")
        return
    edges, levels = rate_levels(points, profile.span_s)
    label = f"rate between change points ({len(points)})"
    axes.stairs(levels, np.asarray(edges) / unit.seconds, color=PALETTE[1], lw=2, baseline=None, label=label)


def rate_levels(points: Sequence[ChangePoint], span_s: float) -> tuple[list[float], list[float]]:
    """Return the edges (s) of the pieces between change points, and the rate of each (requests/s)."""
    edges = [0.0, *(one.at_s for one in points), span_s]
    return edges, [points[0].rate_before_rps, *(one.rate_after_rps for one in points)]


def _draw_curve(axes: Axes, curve: PiecewiseArrivals, rate_rps: float, unit: TimeUnit) -> None:
    weights = np.asarray(curve.weights)
    edges = np.arange(weights.size + 1) * curve.bin_s / unit.seconds
    label = f"the profile's curve, bins of {curve.bin_s:g} s"
    axes.stairs(weights / weights.mean() * rate_rps, edges, color=PALETTE[2], lw=1.4, baseline=None, label=label)
