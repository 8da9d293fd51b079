"""What trials and outcomes are called in a report."""

import json
from typing import assert_never

from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned, TrialOutcome
from orchestrator.domain.study_record import TrialRecord

MAX_LABEL_CHARS = 90


def trial_label(trial: TrialRecord) -> str:
    """Name a trial on one line: number, engine, what differs from the defaults."""
    text = f"{trial.trial.number} {trial.trial.label}: {assignment_text(trial)}"
    return text if len(text) <= MAX_LABEL_CHARS else f"{text[: MAX_LABEL_CHARS - 1]}…"


def assignment_text(trial: TrialRecord) -> str:
    """Spell the searched flags of a trial."""
    flags = (f"{key}={_plain(value)}" for key, value in sorted(trial.trial.assignment.items()))
    return ", ".join(flags) or "defaults"


def outcome_name(outcome: TrialOutcome | None) -> str:
    """Name how a trial ended."""
    return "not ended" if outcome is None else type(outcome).__name__.lower()


def outcome_reason(outcome: TrialOutcome | None) -> str:
    """Say why a trial ended as it did; empty where nothing needs saying."""
    match outcome:
        case None:
            return "the driver ended before the trial; continue with --resume"
        case Completed():
            return ""
        case Pruned():
            return "stopped at a load where it was clearly behind"
        case Infeasible(reason=reason, kind=kind) | Failed(reason=reason, kind=kind):
            return f"{reason} ({kind.value})" if kind is not None else reason
        case _:
            assert_never(outcome)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
