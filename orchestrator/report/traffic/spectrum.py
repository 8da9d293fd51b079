"""The spectrum of arrival counts against that of a Poisson process, with the periods that were named."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orchestrator.report.canvas import GREY, PALETTE, style
from orchestrator.report.traffic.picture import Absent, log_axis, wide
from workloads.profile.arrivals.model import Peak, Spectrum
from workloads.profile.model import TraceProfile
from workloads.trace import Trace

MAX_PEAKS = 5


def draw_spectrum(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:  # noqa: ARG001 - the pictures' form
    """Draw power over period, log-log, with the Poisson band, the false-alarm level and the peaks."""
    found = profile.spectrum
    if found is None:
        return Absent("the trace is too short for a spectrum")
    if not found.frequency_hz:
        return Absent("; ".join(found.notes) or "no spectrum was estimated")
    with style():
        made = wide(f"Spectrum of counts in bins of {found.bin_s:g} s · n = {profile.num_requests:,} requests")
        axes = made.subplots()
        _draw_null(axes, found)
        shown = [
            (1 / hertz, density) for hertz, density in zip(found.frequency_hz, found.density, strict=True) if hertz
        ]
        axes.plot(*zip(*shown, strict=True), color=PALETTE[0], label="measured (Welch)")
        _draw_peaks(axes, found.peaks)
        log_axis(axes, which="x")
        axes.set_yscale("log")
        axes.set_xlabel("period (s), the inverse of frequency")
        axes.set_ylabel("power density (requests²/Hz)")
        made.legend(loc="outside lower left", ncols=3)
    return made


def _draw_null(axes: Axes, found: Spectrum) -> None:
    axes.axhspan(found.null_low, found.null_high, color=GREY, alpha=0.3, lw=0, label="95 % of a Poisson process")
    axes.axhline(found.null_density, color=GREY, lw=1.2, label="Poisson process, mean")
    label = "false-alarm level of peaks (1 in 100 traces)"
    axes.axhline(found.false_alarm_density, color=PALETTE[1], ls="--", label=label)


def _draw_peaks(axes: Axes, peaks: tuple[Peak, ...]) -> None:
    highest = sorted(peaks, key=lambda one: -one.density)[:MAX_PEAKS]
    for is_named, label in ((True, "named period"), (False, "peak that is not named")):
        group = [one for one in highest if one.is_named == is_named]
        if not group:
            continue
        face = PALETTE[1] if is_named else "white"
        axes.plot(
            [one.period_s for one in group],
            [one.density for one in group],
            "D",
            color=PALETTE[1],
            mfc=face,
            label=label,
        )
    for one in highest:
        if one.is_named:
            text = f"{one.period_s:,.3g} s ({one.num_periods_seen:.3g} seen)"
            place = (one.period_s, one.density)
            axes.annotate(text, place, xytext=(6, 4), textcoords="offset points", fontsize=7.5)
