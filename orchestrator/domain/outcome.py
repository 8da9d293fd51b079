"""How a trial ends: exactly one of four ways, which searcher, tracker and report treat apart."""

from dataclasses import dataclass

from adapters.protocol import StartFailure, Violation
from orchestrator.domain.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Completed:
    """The configuration was measured at every load asked for; it may miss the SLO."""

    measurements: tuple[Measurement, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Infeasible:
    """A truth about the configuration: a constraint is violated or it does not fit. Never retried."""

    reason: str
    kind: StartFailure | None = None
    violations: tuple[Violation, ...] = ()
    log_tail: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A truth about the infrastructure; may be retried."""

    reason: str
    kind: StartFailure | None = None
    log_tail: str = ""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Stopped at a rung, with what was measured up to there."""

    measurements: tuple[Measurement, ...]
    score: float | None


TrialOutcome = Completed | Infeasible | Failed | Pruned
