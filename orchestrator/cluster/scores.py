"""What a trial reached before its end: the score so far, where there is one."""

from collections.abc import Sequence

from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.study import StudySpec
from orchestrator.trials import score


def score_so_far(measurements: Sequence[Measurement], study: StudySpec) -> float | None:
    """Score what is measured; None where none of it is valid yet."""
    try:
        return score(measurements, study)
    except MeasurementRefusedError:
        return None
