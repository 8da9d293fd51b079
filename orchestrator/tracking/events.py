"""What the journal's lines say: one frozen model an event, spelled as one line of JSON. The form is versioned."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter

from adapters.protocol import StartFailure, Violation
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned, TrialOutcome
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.study import StudySpec
from orchestrator.domain.trial import TrialSpec
from orchestrator.tracking.redact import redact_text


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at: str = Field(description="UTC, ISO 8601")


class StudyOpened(_Event):
    """A driver began or resumed the study."""

    event: Literal["study_opened"] = "study_opened"
    journal: Literal["seatrial.journal/1"] = "seatrial.journal/1"
    study_id: str
    digest: str = Field(description="of the study as it ran, before redaction")
    spec: StudySpec
    versions: dict[str, str]
    tags: dict[str, str] = Field(description="what must be equal for a fair comparison, study-wide")


class TrialStarted(_Event):
    """A trial was handed out."""

    event: Literal["trial_started"] = "trial_started"
    trial_id: str
    digest: str
    trial: TrialSpec


class TrialDeployed(_Event):
    """A trial's engine runs; `facts` are what it said of itself."""

    event: Literal["trial_deployed"] = "trial_deployed"
    trial_id: str
    facts: dict[str, str]


class Measured(_Event):
    """One finished measurement; `key` occurs once in a journal."""

    event: Literal["measured"] = "measured"
    key: str
    trial_id: str
    trial_digest: str
    measurement: Measurement


class Ending(BaseModel):
    """How a trial ended, without its measurements, which have lines of their own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["completed", "infeasible", "failed", "pruned"]
    score: FiniteFloat | None = None
    reason: str | None = None
    failure: StartFailure | None = None
    violations: tuple[tuple[str, str, str], ...] = ()
    log_tail: str = ""


class Times(BaseModel):
    """A trial's wall time and its parts, seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_s: FiniteFloat
    engine_start_s: FiniteFloat
    replay_s: FiniteFloat


class TrialEnded(_Event):
    """A trial ended and its engine is gone."""

    event: Literal["trial_ended"] = "trial_ended"
    trial_id: str
    ending: Ending
    times: Times


class StudyEnded(_Event):
    """The study's driver came to its end; a study that was killed has no such line."""

    event: Literal["study_ended"] = "study_ended"
    reason: str


class Repaired(_Event):
    """A torn last line was cut off; `cut` is what it held."""

    event: Literal["repaired"] = "repaired"
    cut: str


Event = Annotated[
    StudyOpened | TrialStarted | TrialDeployed | Measured | TrialEnded | StudyEnded | Repaired,
    Field(discriminator="event"),
]
_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


def parse_event(line: bytes) -> Event:
    """Read one line.

    Raises:
        pydantic.ValidationError: it is no event of this journal's form.
    """
    return _EVENTS.validate_json(line)


def to_line(event: Event) -> bytes:
    """Spell an event as one line of JSON, keys as published, no newline."""
    return event.model_dump_json(by_alias=True).encode()


def ending_of(outcome: TrialOutcome) -> Ending:
    """Spell an outcome for the journal; log lines lose their secrets."""
    match outcome:
        case Completed(score=score):
            return Ending(kind="completed", score=score)
        case Pruned(score=score):
            return Ending(kind="pruned", score=score)
        case Infeasible(reason=reason, kind=failure, violations=violations, log_tail=tail):
            rows = tuple((one.key, str(one.seen), one.allowed) for one in violations)
            return Ending(
                kind="infeasible",
                reason=redact_text(reason),
                failure=failure,
                violations=rows,
                log_tail=redact_text(tail),
            )
        case Failed(reason=reason, kind=failure, log_tail=tail):
            return Ending(kind="failed", reason=redact_text(reason), failure=failure, log_tail=redact_text(tail))


def outcome_of(ending: Ending, measurements: tuple[Measurement, ...]) -> TrialOutcome:
    """Rebuild an outcome from the journal; a violation's value comes back as text."""
    match ending.kind:
        case "completed":
            return Completed(measurements, ending.score if ending.score is not None else 0.0)
        case "pruned":
            return Pruned(measurements, ending.score)
        case "infeasible":
            rows = tuple(Violation(*row) for row in ending.violations)
            return Infeasible(ending.reason or "", ending.failure, rows, ending.log_tail)
        case "failed":
            return Failed(ending.reason or "", ending.failure, ending.log_tail)


def times_of(times: Times) -> TrialTimes:
    """Turn the journal's times into the domain's."""
    return TrialTimes(wall_s=times.wall_s, engine_start_s=times.engine_start_s, replay_s=times.replay_s)
