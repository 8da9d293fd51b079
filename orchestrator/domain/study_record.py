"""A whole study as its journal tells it: what report and plots read. Values only; nothing here reads a file."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.study import StudySpec
from orchestrator.domain.telemetry import Telemetry
from orchestrator.domain.trial import TrialSpec


@dataclass(frozen=True, slots=True)
class LoadSpan:
    """When a load's measured window lay, in nanoseconds of the telemetry's clock."""

    label: str
    step: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class TrialEvidence:
    """What was sampled during one deployment; `wall_offset_ns` added to the telemetry's clock gives Unix time."""

    telemetry: Telemetry
    spans: tuple[LoadSpan, ...]
    wall_offset_ns: int


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial; `outcome` is None where it did not end, `evidence` where no telemetry is at hand."""

    trial: TrialSpec
    facts: Mapping[str, str]
    measurements: tuple[Measurement, ...]
    outcome: TrialOutcome | None
    times: TrialTimes | None
    evidence: TrialEvidence | None = None

    @property
    def is_simulated(self) -> bool:
        """Return whether any figure of the trial comes from the simulated engine."""
        return any(one.is_simulated for one in self.measurements)


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """One study; `ended_at` is None while it runs or where it was killed.

    `notes` say what the journal had to repair.
    """

    study_id: str
    spec: StudySpec
    digest: str
    versions: Mapping[str, str]
    tags: Mapping[str, str]
    started_at: str
    ended_at: str | None
    trials: tuple[TrialRecord, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Return whether trials are missing: the study did not end, or one of its trials did not."""
        return self.ended_at is None or any(one.outcome is None for one in self.trials)

    @property
    def is_simulated(self) -> bool:
        """Return whether any figure of the study comes from the simulated engine."""
        return any(one.is_simulated for one in self.trials)


def load_label(measurement: Measurement) -> str:
    """Name a measurement's offered load as people read it: `2.5 requests/s` or `4 users`."""
    if measurement.users is not None:
        return str(ClosedLoad(users=measurement.users))
    return str(OpenLoad(rate_rps=measurement.offered_rps)) if measurement.offered_rps else "unknown load"


def spans_of(measurements: Sequence[Measurement], *, wall_offset_ns: int) -> tuple[LoadSpan, ...]:
    """Place each measured window on the telemetry's clock, from when its replay began and how long it warmed up."""
    return tuple(_span(one, wall_offset_ns) for one in measurements)


def _span(measurement: Measurement, wall_offset_ns: int) -> LoadSpan:
    began_s = datetime.datetime.fromisoformat(measurement.started_at).timestamp()
    start_ns = round((began_s + measurement.warmup_s) * NS_PER_S) - wall_offset_ns
    end_ns = start_ns + round(measurement.window_s * NS_PER_S)
    return LoadSpan(load_label(measurement), measurement.step, start_ns, end_ns)
