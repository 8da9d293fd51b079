"""From a journal to the record of its study, as report and plots read it."""

from collections.abc import Callable, Iterable, Sequence

from orchestrator.domain.errors import TrackingError
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.study_record import StudyRecord, TrialEvidence, TrialRecord
from orchestrator.domain.trial import TrialSpec
from orchestrator.tracking.events import (
    Event,
    Measured,
    Repaired,
    StudyEnded,
    StudyOpened,
    TrialDeployed,
    TrialEnded,
    TrialStarted,
    outcome_of,
    times_of,
)
from orchestrator.tracking.journal import Reading, read_journal
from orchestrator.tracking.store import Store

EvidenceOf = Callable[[TrialSpec, Sequence[Measurement]], TrialEvidence | None]


def no_evidence(trial: TrialSpec, measurements: Sequence[Measurement]) -> None:
    """Say that no telemetry is at hand."""


def read_study(store: Store, study_id: str, *, evidence: EvidenceOf = no_evidence) -> StudyRecord:
    """Read a study from its journal, also while it runs; `evidence` finds a trial's telemetry.

    Raises:
        TrackingError: there is no such study, or its journal is damaged.
    """
    return record_of(study_id, read_journal(store, study_id), evidence=evidence)


def record_of(study_id: str, reading: Reading, *, evidence: EvidenceOf = no_evidence) -> StudyRecord:
    """Gather a journal's events; a resumed study keeps its first start and has its last driver's versions and end.

    Raises:
        TrackingError: the journal does not begin with a study.
    """
    openings = [event for event in reading.events if isinstance(event, StudyOpened)]
    if not openings:
        raise TrackingError(f"the journal of study {study_id} does not say which study it is; it has no study_opened")
    last = openings[-1]
    started = dict.fromkeys(event.trial_id for event in reading.events if isinstance(event, TrialStarted))
    return StudyRecord(
        study_id=study_id,
        spec=last.spec,
        digest=last.digest,
        versions=last.versions,
        tags=last.tags,
        started_at=openings[0].at,
        ended_at=_ended_at(reading.events),
        trials=tuple(trial_record(reading.events, name, evidence=evidence) for name in started),
        notes=tuple(_notes(reading)),
    )


def trial_record(events: Iterable[Event], trial_id: str, *, evidence: EvidenceOf = no_evidence) -> TrialRecord:
    """Gather one trial's events; of two endings the later one stands."""
    trial: TrialSpec | None = None
    facts: dict[str, str] = {}
    measured: list[Measurement] = []
    ended: TrialEnded | None = None
    for event in events:
        match event:
            case TrialStarted(trial_id=name, trial=spec) if name == trial_id:
                trial, ended = spec, None
            case TrialDeployed(trial_id=name) if name == trial_id:
                facts = event.facts
            case Measured(trial_id=name, measurement=one) if name == trial_id:
                measured.append(one)
            case TrialEnded(trial_id=name) if name == trial_id:
                ended = event
            case _:
                continue
    if trial is None:
        raise TrackingError(f"the journal has lines of trial {trial_id}, but none that starts it")
    outcome, times = _end(ended, tuple(measured))
    return TrialRecord(trial, facts, tuple(measured), outcome, times, evidence(trial, measured))


def _end(
    ended: TrialEnded | None, measurements: tuple[Measurement, ...]
) -> tuple[TrialOutcome | None, TrialTimes | None]:
    return (None, None) if ended is None else (outcome_of(ended.ending, measurements), times_of(ended.times))


def _ended_at(events: Sequence[Event]) -> str | None:
    """Return when the study came to its end; None where it was interrupted, killed, or resumed since."""
    last = next((event for event in reversed(events) if isinstance(event, StudyOpened | StudyEnded)), None)
    return last.at if isinstance(last, StudyEnded) and last.reason == "finished" else None


def _notes(reading: Reading) -> Iterable[str]:
    for event in reading.events:
        if isinstance(event, Repaired):
            yield f"{event.at}: a torn last line was cut off the journal: {event.cut[:80]!r}"
    if reading.torn is not None:
        yield "the journal's last line is torn; it is being written, or a kill tore it (resume cuts it off)"
