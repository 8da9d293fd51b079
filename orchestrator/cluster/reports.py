"""What a trial's actor tells the driver, and the result that Tune carries it in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from orchestrator.domain.deployment import StopReport
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.trial import TrialSpec

METRIC = "score"


class Ticket(BaseModel):
    """A trial handed out to an actor, with what is measured of it already."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trial: TrialSpec
    known: tuple[Measurement, ...] = ()


@dataclass(frozen=True, slots=True)
class Deployed:
    """The engine runs. `waited_s` is how long the trial waited for devices that others held."""

    facts: Mapping[str, str]
    engine_start_s: float
    waited_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One load was measured; `replay_s` sums all loads of this attempt."""

    index: int
    measurement: Measurement
    replay_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The trial is over and its engine is down."""

    outcome: TrialOutcome
    stopped: StopReport | None


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A person stopped the search; the engine is down and the trial has no outcome."""

    stopped: StopReport | None


Report = Deployed | Measured | Ended | Interrupted


def to_result(report: Report, score: float | None) -> dict[str, Any]:
    """Spell a report as a Tune result: a finite score, a verdict, the measurement's JSON, the report itself.

    Tune ends the whole search over a missing metric, so there no score reads 0; nothing of ours decides by it.
    """
    result: dict[str, Any] = {METRIC: 0.0 if score is None else score, "verdict": _verdict(report), "report": report}
    if isinstance(report, Measured):
        result["measurement"] = report.measurement.to_json()
    return {**result, "done": isinstance(report, Ended | Interrupted)}


def _verdict(report: Report) -> str:
    match report:
        case Ended(outcome=outcome):
            return type(outcome).__name__.lower()
        case _:
            return type(report).__name__.lower()
