"""Throughput-latency curves: one trial in detail, or all trials of a study laid over each other."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from orchestrator.domain.measurement import Measurement
from orchestrator.domain.slo import Slo
from orchestrator.domain.study_record import TrialRecord
from orchestrator.report.canvas import GREY, MARKERS, PALETTE, Format, figure, from_zero, gaps, render, style
from orchestrator.report.labels import trial_label
from orchestrator.report.numbers import MS_PER_S

MAX_OVERLAID = 14
Value = Callable[[Measurement], float | None]


class _Panel(NamedTuple):
    title: str
    unit: str
    bound_s: float | None
    lines: tuple[tuple[str, Value], ...]


def draw_trial(trial: TrialRecord, *, slo: Slo | None = None, fmt: Format = "png") -> bytes:
    """Draw one trial: TTFT, TPOT and E2E at P50 and P90, from send and from intended arrival, and what was achieved."""
    measurements = sorted(trial.measurements, key=lambda one: one.step)
    with style():
        title = f"{trial_label(trial)}: latency and throughput against offered load"
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
            f"All trials against offered load{note}",
            size_in=(9.6, 7.0 + 0.2 * len(shown)),
            is_simulated=any(one.is_simulated for one in shown),
        )
        axes = made.subplots(2, 2)
        for panel, place in zip(_overlay_panels(slo), axes.flat, strict=True):
            for index, trial in enumerate(shown):
                _draw_overlaid(place, panel, trial, index)
            _finish(place, panel, [one for trial in shown for one in trial.measurements])
        made.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower left", ncols=1)
        return render(made, fmt)


def _latency_panels(slo: Slo | None) -> tuple[_Panel, ...]:
    return (
        _Panel(
            "Time to first token",
            "TTFT (ms)",
            slo.ttft_s if slo else None,
            (
                ("P50 from send", lambda one: one.ttft_s.p50),
                ("P90 from send", lambda one: one.ttft_s.p90),
                ("P50 from intended", lambda one: one.ttft_from_intended_s.p50),
                ("P90 from intended", lambda one: one.ttft_from_intended_s.p90),
            ),
        ),
        _Panel(
            "Time per output token",
            "TPOT (ms)",
            slo.tpot_s if slo else None,
            (("P50 from send", lambda one: one.tpot_s.p50), ("P90 from send", lambda one: one.tpot_s.p90)),
        ),
        _Panel(
            "End-to-end latency",
            "E2E (ms)",
            slo.e2e_s if slo else None,
            (
                ("P50 from send", lambda one: one.e2e_s.p50),
                ("P90 from send", lambda one: one.e2e_s.p90),
                ("P50 from intended", lambda one: one.e2e_from_intended_s.p50),
                ("P90 from intended", lambda one: one.e2e_from_intended_s.p90),
            ),
        ),
    )


def _overlay_panels(slo: Slo | None) -> tuple[_Panel, ...]:
    return (
        _Panel(
            "Time to first token, P90",
            "TTFT (ms)",
            slo.ttft_s if slo else None,
            (("", lambda one: _ms(one.ttft_s.p90)),),
        ),
        _Panel(
            "Time per output token, P90",
            "TPOT (ms)",
            slo.tpot_s if slo else None,
            (("", lambda one: _ms(one.tpot_s.p90)),),
        ),
        _Panel("Goodput", "requests/s that met the SLO", None, (("", lambda one: one.goodput_rps),)),
        _Panel("Output throughput", "output tokens/s", None, (("", lambda one: one.output_tokens_per_s),)),
    )


def _draw_latency(axes: Axes, panel: _Panel, measurements: Sequence[Measurement]) -> None:
    loads = _loads(measurements)
    for index, (label, value) in enumerate(panel.lines):
        is_intended = "intended" in label
        axes.plot(
            loads,
            gaps([_ms(value(one)) for one in measurements]),
            label=label,
            color=PALETTE[index % 2],
            linestyle="--" if is_intended else "-",
            marker="s" if is_intended else "o",
            markerfacecolor="white" if is_intended else PALETTE[index % 2],
        )
    _finish(axes, panel, measurements)


def _draw_throughput(axes: Axes, measurements: Sequence[Measurement]) -> None:
    loads = _loads(measurements)
    if measurements and measurements[0].mode == "open":
        axes.plot(loads, loads, label="offered", color=GREY, linestyle=":")
    lines: tuple[tuple[str, Value], ...] = (
        ("achieved (sent)", lambda one: one.achieved_rps),
        ("completed", lambda one: one.requests_per_s),
        ("goodput (met the SLO)", lambda one: one.goodput_rps),
    )
    for (label, value), colour, marker in zip(lines, (PALETTE[6], PALETTE[4], PALETTE[2]), MARKERS, strict=False):
        axes.plot(loads, gaps([value(one) for one in measurements]), label=label, color=colour, marker=marker)
    _finish(axes, _Panel("Throughput", "requests/s", None, ()), measurements)


def _draw_overlaid(axes: Axes, panel: _Panel, trial: TrialRecord, index: int) -> None:
    measurements = sorted(trial.measurements, key=lambda one: one.step)
    ((_, value),) = panel.lines
    axes.plot(
        _loads(measurements),
        gaps([value(one) for one in measurements]),
        label=trial_label(trial),
        color=PALETTE[index % len(PALETTE)],
        marker=MARKERS[(index + index // len(PALETTE)) % len(MARKERS)],  # a colour that comes again has another
        linestyle="-" if index < len(PALETTE) else "--",
    )


def _finish(axes: Axes, panel: _Panel, measurements: Sequence[Measurement]) -> None:
    axes.set_title(panel.title)
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
