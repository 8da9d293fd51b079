"""What a report says, as rows of text: made once, spelled by the HTML and the Markdown alike."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orchestrator.analysis.comparison import compare_to_defaults
from orchestrator.analysis.curve import Curve
from orchestrator.domain.agreement import GREEDY
from orchestrator.domain.measurement import Distribution, Measurement
from orchestrator.domain.outcome import Completed, Pruned, TrialOutcome
from orchestrator.domain.slo import Slo
from orchestrator.domain.study_record import StudyRecord, TrialRecord, load_label
from orchestrator.metrics.percentiles import PERCENTILES, requests_needed
from orchestrator.report.labels import assignment_text, outcome_name, outcome_reason
from orchestrator.report.numbers import MISSING, mebibytes, milliseconds, number, percent, percentile_ms

LOAD_HEADS = (
    "offered load",
    "achieved (requests/s)",
    "issued / failed",
    "TTFT P50 (ms)",
    "TTFT P90 (ms)",
    "TTFT P99 (ms)",
    "TPOT P50 (ms)",
    "E2E P50 (ms)",
    "E2E P90 (ms)",
    "goodput (requests/s)",
    "SLO attainment",
    "memory peak (MiB)",
    "client",
)
TRIAL_HEADS = ("trial", "engine", "assignment", "outcome", "loads", "score", "capacity", "wall (s)", "overhead (s)")


class LoadRow(NamedTuple):
    """One measurement as text, in the order of LOAD_HEADS."""

    cells: tuple[str, ...]
    verdict: str


class TrialRow(NamedTuple):
    """One trial as text: its line in the overview, why it ended so, and its measurements."""

    anchor: str
    cells: tuple[str, ...]
    outcome: str
    reason: str
    loads: tuple[LoadRow, ...]
    facts: Mapping[str, str]


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
    return TrialRow(trial.trial.trial_id, cells, name, outcome_reason(trial.outcome), loads, facts)


def _load_row(one: Measurement) -> LoadRow:
    verdict = one.fidelity.verdict.value
    reasons = "; ".join(one.fidelity.reasons)
    cells = (
        load_label(one),
        number(one.achieved_rps),
        f"{one.num_issued} / {one.num_failed}",
        percentile_ms(one.ttft_s, "p50"),
        percentile_ms(one.ttft_s, "p90"),
        percentile_ms(one.ttft_s, "p99"),
        percentile_ms(one.tpot_s, "p50"),
        percentile_ms(one.e2e_s, "p50"),
        percentile_ms(one.e2e_s, "p90"),
        number(one.goodput_rps),
        percent(one.slo_attainment),
        mebibytes(one.resources.host_memory_peak_bytes),
        f"{verdict}: {reasons}" if reasons else verdict,
    )
    return LoadRow(cells, verdict)


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
    for name, quantile in PERCENTILES.items():
        thin = [one.count for one in samples if getattr(one, name) is None]
        if thin:
            yield (
                f"{name.upper()} of TTFT: at {len(thin)} of {len(samples)} loads the window was too short; it needs "
                f"{requests_needed(quantile)} requests, the largest such window had {max(thin)}"
            )
