"""One measurement as text for a terminal; a percentile that the sample cannot carry says what it would need."""

from orchestrator.domain.distribution import Distribution, Interval, Part
from orchestrator.domain.measurement import Measurement, Rate
from orchestrator.metrics.percentiles import PERCENTILES
from orchestrator.report.conditions import (
    FROM_INTENDED,
    FROM_SEND,
    JUDGED,
    cache_text,
    calibration_text,
    client_text,
    is_unstable,
    window_text,
)
from orchestrator.report.numbers import MISSING, UNSTABLE, bounds, needs, number, percent, with_interval

PARTS: tuple[Part, ...] = ("mean", "p50", "p90", "p95", "p99", "p999")
LATENCIES = (
    (f"TTFT {FROM_SEND}", "ttft_s"),
    (f"TTFT {FROM_INTENDED}", "ttft_from_intended_s"),
    ("ITL", "itl_s"),
    ("TPOT", "tpot_s"),
    (f"E2E {FROM_SEND}", "e2e_s"),
    (f"E2E {FROM_INTENDED}", "e2e_from_intended_s"),
)
LABEL_CHARS = 28
CELL_CHARS = 12


def measurement_text(measurement: Measurement) -> str:
    """Spell a measurement as aligned lines; a 95 % interval stands below its figure."""
    return "\n".join([*_load(measurement), "", *_latencies(measurement), "", *_verdicts(measurement)])


def _load(one: Measurement) -> list[str]:
    offered = f"{one.users} users" if one.offered_rps is None else f"{one.offered_rps:g} requests/s"
    failures = ", ".join(f"{kind.value} {count}" for kind, count in one.failures.items()) or "none"
    counts = f"{one.num_issued} issued, {one.num_completed} completed, {one.num_failed} failed"
    return [
        f"offered {offered}, achieved {_rate(one, 'achieved_rps')} requests/s over {one.window_s:.4g} s"
        + (" (SIMULATED)" if one.is_simulated else ""),
        f"requests: {counts}; by kind: {failures}",
        f"throughput: {_rate(one, 'requests_per_s')} requests/s, {_rate(one, 'output_tokens_per_s')} output tokens/s",
        _slo(one),
    ]


def _slo(one: Measurement) -> str:
    if one.goodput_rps is None or one.slo_attainment is None:
        return "SLO: none stated, so no goodput" if not is_unstable(one) else "SLO: no goodput"
    met = with_interval(one.slo_attainment, one.rate_intervals.get("slo_attainment"), percent)
    return f"goodput: {_rate(one, 'goodput_rps')} requests/s, SLO met by {met} of the requests issued. {JUDGED}"


def _rate(one: Measurement, name: Rate) -> str:
    return with_interval(getattr(one, name), one.rate_intervals.get(name), _four)


def _latencies(one: Measurement) -> list[str]:
    samples: list[tuple[str, Distribution]] = [(label, getattr(one, field)) for label, field in LATENCIES]
    intervals = [_interval_cells(sample) for _, sample in samples]
    width = max([CELL_CHARS, *(len(cell) + 2 for cells in intervals for cell in cells)])
    heading = "seconds, of an unstable queue" if is_unstable(one) else "seconds"
    unstable = is_unstable(one)
    lines = [_line(heading, [*PARTS, "count"], width)]
    for (label, sample), cells in zip(samples, intervals, strict=True):
        lines.append(_line(label, [*(_cell(sample, part, unstable) for part in PARTS), str(sample.count)], width))
        if any(cells):
            lines.append(_line("  95 % interval", [*cells, _effective(sample)], width))
    return lines


def _line(label: str, cells: list[str], width: int) -> str:
    return (f"{label:<{LABEL_CHARS}}" + "".join(f"{cell:>{width}}" for cell in cells)).rstrip()


def _cell(sample: Distribution, part: Part, unstable: bool) -> str:  # noqa: FBT001 - its one caller has it at hand
    value: float | None = getattr(sample, part)
    if value is not None or part not in PERCENTILES:
        return _four(value)
    return UNSTABLE if unstable else needs(sample, part)


def _interval_cells(sample: Distribution) -> list[str]:
    found: list[Interval | None] = [sample.intervals.get(part) for part in PARTS]
    return ["" if one is None else bounds(one, number) for one in found]


def _effective(sample: Distribution) -> str:
    return "" if sample.effective_count is None else f"~{sample.effective_count:.0f}"


def _verdicts(one: Measurement) -> list[str]:
    return [
        f"client: {client_text(one.fidelity)}",
        f"calibration: {calibration_text(one)}",
        f"window: {window_text(one)}",
        f"cache: {cache_text(one.cache)}",
        f"content: {one.content}, length scale {one.length_scale}; schedule {one.schedule_digest}",
        f"answers: {_ends(one)}",
    ]


def _ends(one: Measurement) -> str:
    stop = {"forced": "of forced length", "natural": "ended by the model", None: "ended as not recorded"}[one.stop]
    if one.num_ended_by_length is None:
        return f"{stop}; none told why it ended"
    lengths = f"; {one.num_short} shorter, {one.num_long} longer than asked" if one.num_short or one.num_long else ""
    return f"{stop}; {one.num_ended_by_length} cut at their limit, {one.num_ended_by_stop} stopped{lengths}"


def _four(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4g}"
