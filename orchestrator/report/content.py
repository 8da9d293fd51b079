"""What a report says, as rows of text: made once, spelled by the HTML and the Markdown alike."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orchestrator.analysis.comparison import compare_to_defaults
from orchestrator.analysis.curve import Curve
from orchestrator.domain.agreement import GREEDY
from orchestrator.domain.distribution import Distribution, Part
from orchestrator.domain.measurement import Measurement, Rate
from orchestrator.domain.outcome import Completed, Pruned, TrialOutcome
from orchestrator.domain.slo import Slo
from orchestrator.domain.study_record import StudyRecord, TrialRecord, load_label
from orchestrator.metrics.percentiles import PERCENTILES
from orchestrator.report.conditions import (
    FROM_INTENDED,
    FROM_SEND,
    JUDGED,
    NOT_MEASURED,
    calibration_text,
    is_unstable,
    notes,
    stable_label,
)
from orchestrator.report.labels import assignment_text, outcome_name, outcome_reason
from orchestrator.report.numbers import (
    MISSING,
    mebibytes,
    milliseconds,
    number,
    percent,
    percentile_ms,
    values_needed,
    with_interval,
)

LOAD_HEADS = (
    "offered load",
    "achieved (requests/s)",
    "issued / failed / drained",
    "completed (requests/s)",
    "output tokens/s",
    "TPOT P50 (ms)",
    "TPOT P90 (ms)",
    "goodput (requests/s)",
    "SLO attainment",
    "memory peak (MiB)",
    "client",
)
LATENCY_HEADS = (
    "offered load",
    "counted",
    "TTFT P50 (ms)",
    "TTFT P90 (ms)",
    "TTFT P99 (ms)",
    "E2E P50 (ms)",
    "E2E P90 (ms)",
    "E2E P99 (ms)",
)
UNSTABLE_EXPLAINED = (
    "There, percentiles are those of an unstable queue and grow with the window. Where a load was given up, goodput "
    'and attainment count what was no longer offered as missed; "window" under Measurements says when and why.'
)
TABLES_EXPLAINED = (
    'A percentile is shown where the sample carries it; "needs N" is the number of requests it would take. '
    "In brackets: 95 % interval, where there is one. Latencies stand twice, from send and from intended arrival. "
    f"{JUDGED}"
)
TRIAL_HEADS = ("trial", "engine", "assignment", "outcome", "loads", "score", "capacity", "wall (s)", "overhead (s)")


class LoadRow(NamedTuple):
    """One measurement as text: `cells` by LOAD_HEADS, `latencies` by LATENCY_HEADS, `conditions` by CONDITION_HEADS."""

    cells: tuple[str, ...]
    verdict: str
    latencies: tuple[tuple[str, ...], ...]
    conditions: tuple[str, ...]
    is_unstable: bool


class TrialRow(NamedTuple):
    """One trial as text: its line in the overview, why it ended so, and its measurements."""

    anchor: str
    cells: tuple[str, ...]
    outcome: str
    reason: str
    loads: tuple[LoadRow, ...]
    facts: Mapping[str, str]
    calibration: str


def trial_rows(record: StudyRecord) -> tuple[TrialRow, ...]:
    """Spell every trial, in the order in which they began."""
    return tuple(_trial_row(one, record.spec.slo) for one in record.trials)


def summary(record: StudyRecord) -> tuple[str, ...]:
    """Say in sentences what came out; of each engine the best trial beside its defaults."""
    counts = [outcome_name(one.outcome) for one in record.trials]
    told = ", ".join(f"{counts.count(name)} {name}" for name in dict.fromkeys(counts))
    engines = dict.fromkeys(one.trial.label for one in record.trials)
    asked = record.spec.budget.trials * len(record.spec.engines)
    return (
        f"{len(record.trials)} of {asked} trials: {told or 'none began'}.",
        *(f"{engine}: {_comparison(record, engine)}" for engine in engines),
    )


def capacity_text(trial: TrialRecord, slo: Slo | None) -> str:
    """Spell the largest load up to which every load met the SLO; not more than a point among those measured."""
    if slo is None or not trial.measurements:
        return MISSING
    best = Curve.of(trial.measurements).capacity(slo)
    return load_label(best) if best is not None else "below the lowest load"


def slo_text(slo: Slo | None) -> str:
    """Spell an SLO."""
    if slo is None:
        return "none stated"
    bounds = (("TTFT", slo.ttft_s), ("TPOT", slo.tpot_s), ("E2E", slo.e2e_s))
    told = ", ".join(f"{name} at most {milliseconds(bound)} ms" for name, bound in bounds if bound is not None)
    return f"{told}, for {percent(slo.attainment)} of the requests issued"


def rate(one: Measurement, name: Rate) -> str:
    """Spell a rate of a measurement with its interval."""
    return with_interval(getattr(one, name), one.rate_intervals.get(name), number)


def attainment(one: Measurement) -> str:
    """Spell the share of requests that met the SLO with its interval."""
    return with_interval(one.slo_attainment, one.rate_intervals.get("slo_attainment"), percent)


def unstable_loads(record: StudyRecord) -> tuple[str, ...]:
    """Name the loads, with their trials, that outgrew the server."""
    return tuple(
        f"trial {trial.trial.number} ({trial.trial.label}) at {load_label(one)}"
        for trial in record.trials
        for one in trial.measurements
        if is_unstable(one)
    )


def unmeasured(record: StudyRecord) -> tuple[str, ...]:
    """List what the study does not say, and what saying it would need."""
    return tuple(dict.fromkeys(_unmeasured(record)))


def is_sound(record: StudyRecord) -> bool:
    """Say whether the client can be trusted at every load."""
    return all(one.fidelity.verdict == "sound" for trial in record.trials for one in trial.measurements)


def _trial_row(trial: TrialRecord, slo: Slo | None) -> TrialRow:
    times = trial.times
    name = outcome_name(trial.outcome)
    cells = (
        str(trial.trial.number),
        trial.trial.label,
        assignment_text(trial),
        name,
        str(len(trial.measurements)),
        number(_score(trial.outcome)),
        capacity_text(trial, slo),
        number(times.wall_s if times else None),
        number(times.overhead_s if times else None),
    )
    loads = tuple(_load_row(one) for one in sorted(trial.measurements, key=lambda one: one.step))
    facts = {key: value for key, value in trial.facts.items() if key != GREEDY}  # it has a section of its own
    calibration = "; ".join(dict.fromkeys(calibration_text(one) for one in trial.measurements)) or NOT_MEASURED
    return TrialRow(trial.trial.trial_id, cells, name, outcome_reason(trial.outcome), loads, facts, calibration)


def _load_row(one: Measurement) -> LoadRow:
    label, verdict, unstable = stable_label(one), one.fidelity.verdict.value, is_unstable(one)
    cells = (
        label,
        rate(one, "achieved_rps"),
        f"{one.num_issued} / {one.num_failed} / {one.num_drained}",
        rate(one, "requests_per_s"),
        rate(one, "output_tokens_per_s"),
        percentile_ms(one.tpot_s, "p50", is_unstable=unstable),
        percentile_ms(one.tpot_s, "p90", is_unstable=unstable),
        rate(one, "goodput_rps"),
        attainment(one),
        mebibytes(one.resources.host_memory_peak_bytes),
        verdict,
    )
    latencies = (
        (label, FROM_SEND, *_percentiles(one, "ttft_s", "e2e_s")),
        (label, FROM_INTENDED, *_percentiles(one, "ttft_from_intended_s", "e2e_from_intended_s")),
    )
    return LoadRow(cells, verdict, latencies, (label, *notes(one)), unstable)


def _percentiles(one: Measurement, *names: str) -> tuple[str, ...]:
    parts: tuple[Part, ...] = ("p50", "p90", "p99")
    unstable = is_unstable(one)
    return tuple(percentile_ms(getattr(one, name), part, is_unstable=unstable) for name in names for part in parts)


def _score(outcome: TrialOutcome | None) -> float | None:
    return outcome.score if isinstance(outcome, Completed | Pruned) else None


def _comparison(record: StudyRecord, engine: str) -> str:
    outcomes = {
        one.trial.number: one.outcome for one in record.trials if one.trial.label == engine and one.outcome is not None
    }
    comparison = compare_to_defaults(outcomes, record.spec.search.objective)
    return comparison.text if comparison else "the defaults were not measured to the end, so nothing is compared."


def _unmeasured(record: StudyRecord) -> Iterator[str]:
    for trial in record.trials:
        if trial.outcome is None:
            yield f"trial {trial.trial.number} did not end"
        if trial.measurements and trial.evidence is None:
            yield "no telemetry is at hand, so nothing is shown over time"
        if trial.evidence is not None:
            yield from trial.evidence.telemetry.notes
    measured = [one for trial in record.trials for one in trial.measurements]
    yield from _thin(measured)
    absent: dict[str, bool] = {
        "calibration of the client": all(one.calibration is None for one in measured),
        "prefix-cache hit rate": all(one.cache.hit_ratio is None for one in measured),
        "KV-cache use": all(one.resources.kv_cache_utilization_peak is None for one in measured),
        "memory of the engine": all(one.resources.host_memory_peak_bytes is None for one in measured),
        "device memory": all(one.resources.device_memory_peak_bytes is None for one in measured),
        "token counts of client against server": all(
            one.fidelity.token_count_mismatch_ratio is None for one in measured
        ),
    }
    yield from (
        f"{name}: could not be read at any load" for name, is_absent in absent.items() if measured and is_absent
    )


def _thin(measured: list[Measurement]) -> Iterator[str]:
    """Say which percentiles of TTFT no window or only some windows carried."""
    samples: list[Distribution] = [one.ttft_s for one in measured]
    for name in PERCENTILES:
        thin = [one.count for one in samples if getattr(one, name) is None]
        if thin:
            needed = max(values_needed(one, name) for one in samples)
            yield (
                f"{name.upper()} of TTFT: at {len(thin)} of {len(samples)} loads the window was too short; it needs "
                f"{needed} requests, the largest such window had {max(thin)}"
            )
