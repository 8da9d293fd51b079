"""What a deployment used over time: memory, KV cache and queue, processor; the measured windows shaded."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.study_record import LoadSpan, TrialEvidence, TrialRecord
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.report.canvas import PALETTE, SHADE, Format, figure, from_zero, render, style
from orchestrator.report.labels import trial_label
from orchestrator.report.numbers import MIB

_GAP_INTERVALS = 5  # samples further apart than this many intervals are a gap, not a line


class _Strip(NamedTuple):
    title: str
    unit: str
    scale: float
    names: tuple[str, ...]


_MEMORY = (
    _Strip("Memory of the engine's processes", "MiB", 1 / MIB, ("host_memory_bytes",)),
    _Strip("Device memory", "MiB", 1 / MIB, ("device_memory_bytes",)),
    _Strip("KV cache in use", "%", 100.0, ("kv_cache_utilization",)),
    _Strip("Requests in the engine", "requests", 1.0, ("requests_running", "requests_waiting")),
)
_PROCESSOR = (
    _Strip("Processor time of the engine's processes", "cores", 1.0, ("host_cpu_cores",)),
    _Strip("Processor of the whole machine", "%", 100.0, ("machine_cpu_ratio",)),
    _Strip("Device utilisation", "%", 100.0, ("device_utilization",)),
)


def draw_memory(trial: TrialRecord, *, fmt: Format = "png") -> bytes | None:
    """Draw memory, KV cache and queue over time; None where none of them was sampled."""
    return _draw(trial, _MEMORY, what="memory and KV cache over time", fmt=fmt)


def draw_processor(trial: TrialRecord, *, fmt: Format = "png") -> bytes | None:
    """Draw processor and device use over time; None where none of them was sampled."""
    return _draw(trial, _PROCESSOR, what="processor over time", fmt=fmt)


def _draw(trial: TrialRecord, strips: Sequence[_Strip], *, what: str, fmt: Format) -> bytes | None:
    evidence = trial.evidence
    if evidence is None:
        return None
    filled = [(strip, found) for strip in strips if (found := _find(evidence.telemetry, strip.names))]
    if not filled:
        return None
    with style():
        title = f"{trial_label(trial)}: {what}"
        made = figure(title, size_in=(9.6, 1.0 + 2.1 * len(filled)), is_simulated=trial.is_simulated)
        column = made.subplots(len(filled), 1, sharex=True, squeeze=False)[:, 0]
        origin_ns = min(int(one.times_ns[0]) for _, found in filled for one in found)
        for axes, (strip, found) in zip(column, filled, strict=True):
            _draw_strip(axes, strip, found, evidence, origin_ns=origin_ns)
        _name_spans(column[0], evidence.spans, origin_ns)
        column[-1].set_xlabel("seconds since the first sample of the deployment (shaded: measured windows)")
        return render(made, fmt)


def _draw_strip(axes: Axes, strip: _Strip, found: Sequence[Series], evidence: TrialEvidence, *, origin_ns: int) -> None:
    for span in evidence.spans:
        axes.axvspan(
            _seconds(span.start_ns, origin_ns), _seconds(span.end_ns, origin_ns), color=SHADE, alpha=0.18, lw=0
        )
    for index, one in enumerate(found):
        times_s, values = _with_gaps(one, evidence.telemetry.interval_s, origin_ns)
        axes.plot(times_s, values * strip.scale, color=PALETTE[index % len(PALETTE)], label=one.name)
    axes.set_title(strip.title)
    axes.set_ylabel(strip.unit)
    from_zero(axes)
    if len(found) > 1:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _name_spans(axes: Axes, spans: Sequence[LoadSpan], origin_ns: int) -> None:
    for span in spans:
        middle_s = (_seconds(span.start_ns, origin_ns) + _seconds(span.end_ns, origin_ns)) / 2
        axes.annotate(
            span.label,
            (middle_s, 0.04),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=7.5,
            color=PALETTE[0],
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
        )


def _find(telemetry: Telemetry, names: tuple[str, ...]) -> list[Series]:
    """Find series by name; one a device carries the device's number behind a dot."""
    return [
        one for name in names for one in telemetry.series if one.times_ns.size and one.name.partition(".")[0] == name
    ]


def _with_gaps(series: Series, interval_s: float, origin_ns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Break the line where samples are missing."""
    breaks = np.flatnonzero(np.diff(series.times_ns) > _GAP_INTERVALS * interval_s * NS_PER_S) + 1
    times_s = (series.times_ns - origin_ns) / NS_PER_S
    return np.insert(times_s, breaks, np.nan), np.insert(series.values, breaks, np.nan)


def _seconds(time_ns: int, origin_ns: int) -> float:
    return (time_ns - origin_ns) / NS_PER_S
