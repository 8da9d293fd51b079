"""A block of Markdown to paste into an issue or a chat: one trial's capacity or curve, and what it was measured on."""

from collections.abc import Iterator

from orchestrator.analysis.curve import rank
from orchestrator.domain.errors import InputError
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.study_record import StudyRecord, TrialRecord, load_label
from orchestrator.report.conditions import (
    FROM_INTENDED,
    FROM_SEND,
    JUDGED,
    cache_text,
    calibration_text,
    is_unstable,
    stable_label,
    window_text,
)
from orchestrator.report.content import attainment, capacity_text, rate, slo_text
from orchestrator.report.labels import assignment_text
from orchestrator.report.markdown import escape, flags, table
from orchestrator.report.numbers import percentile_ms

_HEADS = (
    "offered load",
    f"TTFT P50 {FROM_SEND} (ms)",
    f"TTFT P90 {FROM_SEND} (ms)",
    f"TTFT P90 {FROM_INTENDED} (ms)",
    "TPOT P50 (ms)",
    f"E2E P90 {FROM_SEND} (ms)",
    f"E2E P90 {FROM_INTENDED} (ms)",
    "goodput (requests/s)",
    "attainment",
)


def to_md_table(record: StudyRecord, *, trial: str | None = None) -> str:
    """Spell one trial of a study as a block to paste; `trial` is its id or number, by default the best.

    Raises:
        InputError: the study has no measured trial of that name, or several (one an engine).
    """
    return "\n".join(_lines(record, _choose(record, trial))) + "\n"


def verdict_text(measurements: tuple[Measurement, ...]) -> str:
    """Spell the client's verdict over all loads: the worst one, and at how many loads."""
    for verdict in (Verdict.INVALID, Verdict.DEGRADED):
        loads = [load_label(one) for one in measurements if one.fidelity.verdict is verdict]
        if loads:
            return f"{verdict.value} at {', '.join(loads)}"
    return Verdict.SOUND.value


def _choose(record: StudyRecord, asked: str | None) -> TrialRecord:
    measured = [one for one in record.trials if one.measurements]
    if asked is None and measured:
        ranked = rank({place: one.outcome for place, one in enumerate(measured) if one.outcome is not None})
        return measured[ranked[0].number if ranked else 0]
    found = [one for one in measured if asked in {one.trial.trial_id, str(one.trial.number)}]
    if len(found) != 1:
        known = ", ".join(one.trial.trial_id for one in measured) or "none"
        seen = "no measured trial" if not found else f"{len(found)} trials"
        raise InputError(f"study {record.study_id} has {seen} named {asked or 'at all'}; measured: {known}")
    return found[0]


def _lines(record: StudyRecord, trial: TrialRecord) -> Iterator[str]:
    yield from (f"> {line}" for line in flags(record))
    measurements = tuple(sorted(trial.measurements, key=lambda one: one.step))
    yield from table(_HEADS, [_row(one) for one in measurements])
    yield ""
    yield from table(("what", "value"), [(key, value) for key, value in _facts(record, trial) if value])


def _row(one: Measurement) -> tuple[str, ...]:
    unstable = is_unstable(one)
    return (
        stable_label(one),
        percentile_ms(one.ttft_s, "p50", is_unstable=unstable),
        percentile_ms(one.ttft_s, "p90", is_unstable=unstable),
        percentile_ms(one.ttft_from_intended_s, "p90", is_unstable=unstable),
        percentile_ms(one.tpot_s, "p50", is_unstable=unstable),
        percentile_ms(one.e2e_s, "p90", is_unstable=unstable),
        percentile_ms(one.e2e_from_intended_s, "p90", is_unstable=unstable),
        rate(one, "goodput_rps"),
        attainment(one),
    )


def _facts(record: StudyRecord, trial: TrialRecord) -> Iterator[tuple[str, str]]:
    first = trial.measurements[0]
    yield "capacity", capacity_text(trial, record.spec.slo)
    yield "SLO", f"{slo_text(record.spec.slo)}; {JUDGED}"
    yield "engine", f"{trial.trial.label}: {assignment_text(trial)}"
    yield "model", f"{record.spec.model.name} {record.spec.model.variant}, sha256 {trial.trial.model_sha256[:16]}"
    yield "traffic", f"{first.content} prompts, schedule {first.schedule_digest}, cache {first.cache.policy}"
    yield "client", verdict_text(trial.measurements)
    yield "calibration", "; ".join(dict.fromkeys(calibration_text(one) for one in trial.measurements))
    yield from ((f"window at {stable_label(one)}", window_text(one)) for one in trial.measurements)
    yield "cache", "; ".join(dict.fromkeys(cache_text(one.cache) for one in trial.measurements))
    yield from ((f"version of {name}", version) for name, version in sorted(record.versions.items()))
    yield from sorted(record.tags.items())
    yield "digest", f"study {record.digest}, trial {trial.trial.digest}"
    yield "measured", escape(first.started_at)
