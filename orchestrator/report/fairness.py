"""What is not equal between a study's candidates, as the report tells it."""

import json

from orchestrator.analysis.fairness import Difference, differences
from orchestrator.domain.study_record import StudyRecord

UNEQUAL_HEADS = ("condition", "seen", "why it matters")


def unequal(record: StudyRecord) -> tuple[Difference, ...] | None:
    """Return the differences between candidates; None where the study compares nothing."""
    told = record.tags.get("fairness")
    return None if told is None else differences(json.loads(told))


def unequal_rows(found: tuple[Difference, ...]) -> list[tuple[str, str, str]]:
    """Spell each difference as a row."""
    return [
        (one.what.replace("_", " "), "; ".join(f"{name}: {value}" for name, value in one.values.items()), one.why)
        for one in found
    ]
