"""Throughput-latency curves: one trial in detail, or all trials of a study laid over each other."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from orchestrator.domain.distribution import Distribution, Interval, Part
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement, Rate
from orchestrator.domain.slo import Slo
from orchestrator.domain.study_record import TrialRecord
from orchestrator.report.canvas import GREY, MARKERS, PALETTE, Format, figure, from_zero, gaps, render, style
from orchestrator.report.conditions import FROM_INTENDED, FROM_SEND, UNSTABLE, is_unstable
from orchestrator.report.labels import trial_label
from orchestrator.report.numbers import MS_PER_S

MAX_OVERLAID = 14
COINCIDE_RATIO = 0.01
_PARTS: tuple[Part, ...] = ("p50", "p90")
Value = Callable[[Measurement], float | None]


class _Line(NamedTuple):
    """One line: its label, its value a load, and which of the value's 95 % intervals is drawn with it."""

    label: str
    value: Value
    interval: Callable[[Measurement], Interval | None]


class _Panel(NamedTuple):
    title: str
    unit: str
    bound_s: float | None
    lines: tuple[_Line, ...]


def draw_trial(trial: TrialRecord, *, slo: Slo | None = None, fmt: Format = "png") -> bytes:
    """Draw one trial: TTFT, TPOT and E2E at P50 and P90, from send and from intended arrival, and what was achieved.

    Bars are 95 % intervals, where there are any.
    """
    measurements = _drawn(trial)
    with style():
        title = f"{trial_label(trial)}: latency and throughput against offered load{_left_out([trial])}"
        made = figure(title, size_in=(9.6, 7.2), is_simulated=trial.is_simulated)
        axes = made.subplots(2, 2)
        for panel, place in zip(_latency_panels(slo), axes.flat, strict=False):
            _draw_latency(place, panel, measurements)
        _draw_throughput(axes.flat[3], measurements)
        made.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
        made.legend(*axes.flat[3].get_legend_handles_labels(), loc="outside lower right", ncols=2)
        return render(made, fmt)


def draw_overlay(trials: Sequence[TrialRecord], *, slo: Slo | None = None, fmt: Format = "svg") -> bytes:
    """Draw all trials over each other; of more than fourteen, the last are left out and the title says so."""
    measured = [one for one in trials if one.measurements]
    shown = measured[:MAX_OVERLAID]
    note = f" (the first {MAX_OVERLAID} of {len(measured)})" if len(shown) < len(measured) else ""
    with style():
        made = figure(
            f"All trials against offered load{note}{_left_out(shown)}",
            size_in=(9.6, 7.0 + 0.2 * len(shown)),
            is_simulated=any(one.is_simulated for one in shown),
        )
        axes = made.subplots(2, 2)
        for panel, place in zip(_overlay_panels(slo), axes.flat, strict=True):
            for index, trial in enumerate(shown):
                _draw_overlaid(place, panel, trial, index)
            _finish(place, panel, [one for trial in shown for one in _drawn(trial)])
        made.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower left", ncols=1)
        return render(made, fmt)


def _drawn(trial: TrialRecord) -> list[Measurement]:
    """Return a trial's measurements by rising load, but for those that the client calls invalid."""
    valid = (one for one in trial.measurements if one.fidelity.verdict is not Verdict.INVALID)
    return sorted(valid, key=lambda one: one.step)


def _left_out(trials: Sequence[TrialRecord]) -> str:
    count = sum(len(trial.measurements) - len(_drawn(trial)) for trial in trials)
    return f" (without {count} invalid measurement{'s' * (count > 1)})" if count else ""


def _latency_panels(slo: Slo | None) -> tuple[_Panel, ...]:
    return (
        _Panel(
            "Time to first token",
            "TTFT (ms)",
            slo.ttft_s if slo else None,
            _latency_lines("ttft_s", "ttft_from_intended_s"),
        ),
        _Panel(
            "Time per output token",
            "TPOT (ms)",
            slo.tpot_s if slo else None,
            (_latency("P50", "tpot_s", "p50"), _latency("P90", "tpot_s", "p90")),
        ),
        _Panel(
            "End-to-end latency",
            "E2E (ms)",
            slo.e2e_s if slo else None,
            _latency_lines("e2e_s", "e2e_from_intended_s"),
        ),
    )


def _latency_lines(from_send: str, from_intended: str) -> tuple[_Line, ...]:
    return tuple(
        _latency(f"{part.upper()} {origin}", field, part)
        for origin, field in ((FROM_SEND, from_send), (FROM_INTENDED, from_intended))
        for part in _PARTS
    )


def _latency(label: str, field: str, part: Part) -> _Line:
    """Make a line of a latency's percentile, milliseconds; no interval where the queue was unstable."""

    def value(one: Measurement) -> float | None:
        return _ms(getattr(getattr(one, field), part))

    def interval(one: Measurement) -> Interval | None:
        sample: Distribution = getattr(one, field)
        found = None if is_unstable(one) else sample.intervals.get(part)
        return None if found is None else Interval(low=found.low * MS_PER_S, high=found.high * MS_PER_S)

    return _Line(label, value, interval)


def _rate(label: str, name: Rate) -> _Line:
    return _Line(label, lambda one: getattr(one, name), lambda one: one.rate_intervals.get(name))


def _overlay_panels(slo: Slo | None) -> tuple[_Panel, ...]:
    return (
        _Panel(
            "Time to first token, P90",
            f"TTFT (ms); dashed: {FROM_INTENDED}",
            slo.ttft_s if slo else None,
            (_latency(FROM_SEND, "ttft_s", "p90"), _latency(FROM_INTENDED, "ttft_from_intended_s", "p90")),
        ),
        _Panel(
            "Time per output token, P90",
            "TPOT (ms)",
            slo.tpot_s if slo else None,
            (_latency("", "tpot_s", "p90"),),
        ),
        _Panel("Goodput", "requests/s that met the SLO", None, (_rate("", "goodput_rps"),)),
        _Panel("Output throughput", "output tokens/s", None, (_rate("", "output_tokens_per_s"),)),
    )


def _draw_latency(axes: Axes, panel: _Panel, measurements: Sequence[Measurement]) -> None:
    loads = _loads(measurements)
    for index, line in enumerate(panel.lines):
        is_intended = FROM_INTENDED in line.label
        colour = PALETTE[index % 2]
        axes.plot(
            loads,
            gaps([line.value(one) for one in measurements]),
            label=line.label,
            color=colour,
            linestyle="--" if is_intended else "-",
            marker="s" if is_intended else "o",
            markerfacecolor="white" if is_intended else colour,
        )
        _draw_intervals(axes, line, measurements, colour)
    _note(axes, _coincidence(panel.lines, measurements))
    _finish(axes, panel, measurements)


def _draw_intervals(axes: Axes, line: _Line, measurements: Sequence[Measurement], colour: str) -> None:
    """Draw each 95 % interval as a bar through its point."""
    found = [
        (at, bar) for at, one in zip(_loads(measurements), measurements, strict=True) if (bar := line.interval(one))
    ]
    if found:
        lows, highs = [bar.low for _, bar in found], [bar.high for _, bar in found]
        axes.vlines([at for at, _ in found], lows, highs, colors=colour, alpha=0.45, linewidth=3)


def _coincidence(lines: Sequence[_Line], measurements: Sequence[Measurement]) -> str | None:
    """Say where lines from send and from intended arrival lie on each other, so that nobody looks for the second."""
    half = len(lines) // 2
    pairs = [
        (sent.value(one), intended.value(one))
        for sent, intended in zip(lines[:half], lines[half:], strict=False)
        for one in measurements
        if FROM_INTENDED in intended.label
    ]
    known = [(sent, intended) for sent, intended in pairs if sent is not None and intended is not None]
    if known and all(abs(intended - sent) <= COINCIDE_RATIO * sent for sent, intended in known):
        return f"{FROM_SEND} and {FROM_INTENDED} coincide (within {COINCIDE_RATIO:.0%})"
    return None


def _note(axes: Axes, text: str | None) -> None:
    if text is not None:
        axes.annotate(text, (0.02, 0.96), xycoords="axes fraction", va="top", fontsize=7.5, color=GREY)


def _mark_unstable(axes: Axes, measurements: Sequence[Measurement]) -> None:
    """Shade where the load outgrew the server: figures there are those of a growing queue."""
    loads = [at for at, one in zip(_loads(measurements), measurements, strict=True) if is_unstable(one)]
    for at in dict.fromkeys(loads):
        axes.axvline(at, color=PALETTE[1], alpha=0.18, linewidth=7, zorder=0)
    if loads:
        axes.annotate(
            UNSTABLE, (max(loads), 0.02), xycoords=("data", "axes fraction"), ha="right", fontsize=7.5, color=PALETTE[1]
        )


def _draw_throughput(axes: Axes, measurements: Sequence[Measurement]) -> None:
    loads = _loads(measurements)
    if measurements and measurements[0].mode == "open":
        axes.plot(loads, loads, label="offered", color=GREY, linestyle=":")
    lines = (
        _rate("achieved (sent)", "achieved_rps"),
        _rate("completed", "requests_per_s"),
        _rate("goodput (met the SLO)", "goodput_rps"),
    )
    for line, colour, marker in zip(lines, (PALETTE[6], PALETTE[4], PALETTE[2]), MARKERS, strict=False):
        axes.plot(loads, gaps([line.value(one) for one in measurements]), label=line.label, color=colour, marker=marker)
        _draw_intervals(axes, line, measurements, colour)
    _finish(axes, _Panel("Throughput", "requests/s", None, ()), measurements)


def _draw_overlaid(axes: Axes, panel: _Panel, trial: TrialRecord, index: int) -> None:
    measurements = _drawn(trial)
    colour = PALETTE[index % len(PALETTE)]
    for line in panel.lines:
        is_intended = line.label == FROM_INTENDED
        axes.plot(
            _loads(measurements),
            gaps([line.value(one) for one in measurements]),
            label="_" if is_intended else trial_label(trial),  # an underscore keeps it out of the legend
            color=colour,
            marker=MARKERS[(index + index // len(PALETTE)) % len(MARKERS)],  # a colour that comes again has another
            markerfacecolor="white" if is_intended else colour,
            linestyle="--" if is_intended else "-",
        )
        _draw_intervals(axes, line, measurements, colour)


def _finish(axes: Axes, panel: _Panel, measurements: Sequence[Measurement]) -> None:
    axes.set_title(panel.title)
    _mark_unstable(axes, measurements)
    axes.set_ylabel(panel.unit)
    is_closed = bool(measurements) and measurements[0].mode == "closed"
    axes.set_xlabel("users (closed loop)" if is_closed else "offered load (requests/s)")
    if panel.bound_s is not None:
        axes.axhline(panel.bound_s * MS_PER_S, color=GREY, linestyle=":", linewidth=1.2, zorder=1)
        axes.annotate(
            "SLO",
            (1.0, panel.bound_s * MS_PER_S),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right",
            color=GREY,
        )
    from_zero(axes)
    axes.set_xlim(0, 1.05 * max(_loads(measurements), default=1.0))


def _loads(measurements: Sequence[Measurement]) -> list[float]:
    return [one.offered_rps if one.offered_rps is not None else float(one.users or 0) for one in measurements]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * MS_PER_S
