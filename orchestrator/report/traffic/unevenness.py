"""How uneven arrivals are: gaps against an exponential, and the Fano factor over windows against a Poisson process."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from orchestrator.report.canvas import GREY, PALETTE, style
from orchestrator.report.numbers import number
from orchestrator.report.traffic.picture import Absent, log_axis, short, thin, wide
from workloads.profile.model import TraceProfile
from workloads.trace import NS_PER_S, Trace

MIN_GAPS = 10
MIN_GAP_STEPS = 2
MIN_WINDOWS = 2
BAND = (0.025, 0.975)
Floats = NDArray[np.float64]


def draw_gaps(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:
    """Draw the share of gaps at least so long, log-log, beside an exponential of the same mean."""
    if trace is None:
        return Absent("a profile holds no single gaps; profile the trace to see them")
    reason = _refusal(profile)
    gaps_s = np.diff(trace.arrival_ns) / NS_PER_S
    if reason or gaps_s.size < MIN_GAPS:
        return Absent(reason or f"{gaps_s.size} gaps are too few for a distribution")
    shown_s, survival = _survival(gaps_s)
    with style():
        made = wide(f"Gaps between requests · n = {gaps_s.size:,} gaps, mean {gaps_s.mean():.3g} s")
        axes = made.subplots()
        axes.plot(shown_s, 100 * survival, color=PALETTE[0], lw=2, label="measured")
        grid = np.geomspace(max(shown_s[0], gaps_s.mean() * 1e-4), max(shown_s[-1], gaps_s.mean() * 12), 400)
        axes.plot(
            grid, 100 * np.exp(-grid / gaps_s.mean()), color=PALETTE[1], ls="--", label="exponential of the same mean"
        )
        for which in ("x", "y"):
            log_axis(axes, which=which)
        axes.set_ylim(50 / gaps_s.size, 150)
        zeros = float((gaps_s == 0).mean())
        axes.set_xlabel("gap (s)" + (f"; {number(100 * zeros)} % of gaps are 0 and not shown" if zeros else ""))
        axes.set_ylabel("gaps at least so long (%)")
        made.legend(loc="outside lower left", ncols=3)
    return made


def draw_fano(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:  # noqa: ARG001 - the pictures' common form
    """Draw variance over mean of counts against the window, with the band of a Poisson process."""
    measured = {float(window): value for window, value in profile.arrivals.fano.items() if value is not None}
    if not measured:
        return Absent("no window carries a Fano factor: the trace is too short, or its arrivals lie on a coarse grid")
    known = {window_s: value for window_s, value in measured.items() if value > 0}
    if not known:
        return Absent(
            "all windows of a length have equal counts: a Fano factor of 0 has no place on a logarithmic axis"
        )
    windows_s = np.asarray(sorted(known))
    num_windows = (profile.span_s // windows_s).astype(int)
    low, high = fano_band(num_windows)
    with style():
        made = wide(f"Fano factor over window length · n = {profile.num_requests:,} requests")
        axes = made.subplots()
        label = "95 % of Poisson processes as long"
        axes.fill_between(windows_s, low, high, color=GREY, alpha=0.3, lw=0, label=label)
        axes.axhline(1, color=GREY, lw=1.2, label="Poisson process")
        axes.plot(windows_s, [known[one] for one in windows_s], "o-", color=PALETTE[0], label="measured")
        for window_s in windows_s:
            place = (window_s, known[window_s])
            text = f"{known[window_s]:.3g}"
            axes.annotate(text, place, xytext=(-4, 6), textcoords="offset points", ha="right", fontsize=8)
        for which in ("x", "y"):
            log_axis(axes, which=which)
        axes.set_xticks(windows_s, [short(one) for one in windows_s])
        axes.margins(x=0.12, y=0.2)
        zeros = len(measured) - len(known)
        axes.set_xlabel("window (s)" + (f"; {zeros} windows with a factor of 0 are not shown" if zeros else ""))
        axes.set_ylabel("variance over mean of counts")
        made.legend(loc="outside lower left", ncols=3)
    return made


def fano_band(num_windows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return where 95 % of the Fano factors of a Poisson process lie, NaN for fewer than two windows.

    (windows - 1) x Fano is chi-square with (windows - 1) degrees of freedom: the index of dispersion of Fisher,
    Thornton and Mackenzie (1922), an approximation that is coarse under one request a window.
    """
    freedom = np.where(num_windows >= MIN_WINDOWS, num_windows - 1.0, np.nan)
    return stats.chi2.ppf(BAND[0], freedom) / freedom, stats.chi2.ppf(BAND[1], freedom) / freedom


def _refusal(profile: TraceProfile) -> str:
    arrivals, mean_s = profile.arrivals, 1 / profile.rate_rps if profile.rate_rps else None
    step = f"arrivals lie on a step of {arrivals.grid_s:g} s"
    if arrivals.grid_s > arrivals.resolution_s:
        return f"{step}, so gaps show the grid and not the traffic"
    if mean_s is None:
        return "all requests share one instant"
    is_coarse = mean_s < MIN_GAP_STEPS * arrivals.grid_s
    return f"{step}, too coarse for a mean gap of {mean_s:.3g} s" if is_coarse else ""


def _survival(gaps_s: Floats) -> tuple[Floats, Floats]:
    """Return gaps above 0, ascending and thinned, and the share of all gaps that are at least as long."""
    ordered = np.sort(gaps_s)
    survival = 1 - np.arange(ordered.size) / ordered.size
    first = int(np.searchsorted(ordered, 0, side="right"))
    ordered, survival = ordered[first:], survival[first:]
    body = thin(ordered.size)
    tail = np.arange(max(0, ordered.size - 200), ordered.size)
    kept = np.union1d(body, tail)
    return ordered[kept], survival[kept]
