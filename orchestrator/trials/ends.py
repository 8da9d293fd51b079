"""How a trial's end is told: which errors are truths about the configuration, and what it scored."""

from collections.abc import Sequence

from adapters.protocol import StartFailure, Violation
from orchestrator.analysis.curve import score as score_of
from orchestrator.domain.errors import DeploymentError, SeatrialError
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Failed, Infeasible
from orchestrator.domain.study import StudySpec

CONFIGURATION_FAILURES = frozenset(
    {
        StartFailure.OUT_OF_MEMORY,
        StartFailure.BAD_FLAG,
        StartFailure.BAD_MODEL,
        StartFailure.MISSING_PACKAGE,
    }
)


class InfeasibleError(SeatrialError):
    """The configuration violates a constraint; nothing was deployed."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(tuple(violations))
        self.violations = tuple(violations)

    def __str__(self) -> str:
        return "; ".join(f"{key}: seen {seen!r}, allowed {allowed}" for key, seen, allowed in self.violations)


def end_of(error: Exception) -> Infeasible | Failed:
    """Say what an error means for the trial it ended: Infeasible is never retried, Failed may be."""
    match error:
        case InfeasibleError():
            return Infeasible(str(error), violations=error.violations)
        case DeploymentError(kind=kind) if kind in CONFIGURATION_FAILURES:
            return Infeasible(error.message, kind=kind, log_tail=error.log_tail)
        case DeploymentError():
            return Failed(error.message, kind=error.kind, log_tail=error.log_tail)
        case _:
            return Failed(f"{type(error).__name__}: {error}")


def score(measurements: Sequence[Measurement], study: StudySpec) -> float:
    """Score a trial's measurements by the study's objective.

    Raises:
        MeasurementRefusedError: none of them is valid.
    """
    return score_of(measurements, study.search.objective, slo=study.slo)
