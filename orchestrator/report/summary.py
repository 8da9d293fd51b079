"""A study as one JSON object, for other programs. Holds figures that were measured and nothing derived from them."""

from typing import Any

from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned, TrialOutcome
from orchestrator.domain.study_record import StudyRecord, TrialRecord
from orchestrator.report.agreement import agreement_summary
from orchestrator.report.fairness import unequal
from orchestrator.report.resolved import RESOLVED_HEADS, resolved_rows


def study_summary(record: StudyRecord) -> dict[str, Any]:
    """Spell a study with its trials and their measurements; the form of a measurement is the published one."""
    return {
        "study_id": record.study_id,
        "digest": record.digest,
        "is_partial": record.is_partial,
        "is_simulated": record.is_simulated,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "versions": dict(record.versions),
        "tags": dict(record.tags),
        "trials": [_trial(one) for one in record.trials],
        "unequal": None if (found := unequal(record)) is None else [one._asdict() for one in found],
        "resolved_differently": [dict(zip(RESOLVED_HEADS, row, strict=True)) for row in resolved_rows(record)],
        "agreement": agreement_summary(record),
        "notes": list(record.notes),
    }


def _trial(one: TrialRecord) -> dict[str, Any]:
    times = one.times
    return {
        "trial_id": one.trial.trial_id,
        "number": one.trial.number,
        "engine": one.trial.engine,
        "candidate": one.trial.label,
        "assignment": one.trial.assignment,
        "config": one.trial.config,
        **_ending(one.outcome),
        "wall_s": times.wall_s if times else None,
        "engine_start_s": times.engine_start_s if times else None,
        "replay_s": times.replay_s if times else None,
        "overhead_s": times.overhead_s if times else None,
        "measurements": [each.model_dump(mode="json", by_alias=True) for each in one.measurements],
    }


def _ending(outcome: TrialOutcome | None) -> dict[str, Any]:
    match outcome:
        case None:
            return {"outcome": None, "score": None, "reason": None}
        case Completed(score=score):
            return {"outcome": "completed", "score": score, "reason": None}
        case Pruned(score=score):
            return {"outcome": "pruned", "score": score, "reason": None}
        case Infeasible(reason=reason):
            return {"outcome": "infeasible", "score": None, "reason": reason}
        case Failed(reason=reason):
            return {"outcome": "failed", "score": None, "reason": reason}
