"""The one writer of a study's record: journal first, tracker behind it. Watches a search from the driver."""

import datetime
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from orchestrator.domain.clock import Clock
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.runner import PastTrial, TrialTimes
from orchestrator.domain.study import StudySpec
from orchestrator.domain.trial import TrialSpec
from orchestrator.tracking.events import (
    Event,
    Measured,
    StudyEnded,
    StudyOpened,
    Times,
    TrialDeployed,
    TrialEnded,
    TrialStarted,
    ending_of,
)
from orchestrator.tracking.journal import Journal, measurement_key, read_past
from orchestrator.tracking.lease import Lease
from orchestrator.tracking.projection import Projection
from orchestrator.tracking.redact import redact


class Tracker:
    """A study's record, opened for writing. An Observer: what it is told is on disk before it returns."""

    def __init__(self, study_id: str, *, journal: Journal, lease: Lease, projection: Projection, clock: Clock) -> None:
        self.study_id = study_id
        self.notes: tuple[str, ...] = ()
        self._journal = journal
        self._lease = lease
        self._projection = projection
        self._clock = clock
        self._past = {past.trial.trial_id: past for past in read_past(journal.past.events)}
        self._open = {name for name, past in self._past.items() if past.outcome is None}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def past(self) -> tuple[PastTrial, ...]:
        """Return what the journal knew when it was opened."""
        return tuple(self._past.values())

    def begin(self, study: StudySpec, *, versions: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Note that this driver begins or continues the study."""
        self._write(
            StudyOpened(
                at=self._now(),
                study_id=self.study_id,
                digest=study.digest,
                spec=redacted(study),
                versions=dict(versions),
                tags=redact(dict(tags)),
            )
        )

    def started(self, trial: TrialSpec) -> None:
        """Note that a trial was handed out; one that an earlier driver left open goes on."""
        if trial.trial_id in self._open:
            return
        self._open.add(trial.trial_id)
        clean = TrialSpec.model_validate(redact(trial.model_dump(mode="json")))
        self._write(TrialStarted(at=self._now(), trial_id=trial.trial_id, digest=trial.digest, trial=clean))

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        """Note what the running engine said of itself."""
        self._write(TrialDeployed(at=self._now(), trial_id=trial.trial_id, facts=redact(dict(facts))))

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:
        """Note one finished measurement; a trial that is tried again and repeats a load keeps the first figure."""
        key = measurement_key(trial, measurement)
        if self._journal.holds(key):
            self.notes = (*self.notes, f"{key} was measured again by a second try; the first measurement stands")
            return
        self._write(
            Measured(
                at=self._now(),
                key=key,
                trial_id=trial.trial_id,
                trial_digest=trial.digest,
                measurement=measurement,
            )
        )

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        """Note how a trial ended."""
        self._open.discard(trial.trial_id)
        parts = Times(wall_s=times.wall_s, engine_start_s=times.engine_start_s, replay_s=times.replay_s)
        self._write(TrialEnded(at=self._now(), trial_id=trial.trial_id, ending=ending_of(outcome), times=parts))

    def finish(self, reason: str = "finished") -> None:
        """Note that the study came to its end: `finished`, or why it stopped before (`interrupted`)."""
        self._write(StudyEnded(at=self._now(), reason=reason))

    def close(self) -> None:
        """Deliver what the tracker was not told yet and give the study back; `notes` say what could not be told."""
        try:
            self.notes = (*self.notes, *self._projection.close())
        finally:
            self._lease.close()

    def _write(self, event: Event) -> None:
        self._lease.check()
        self._journal.append(event)
        self._projection.tell(event)

    def _now(self) -> str:
        return datetime.datetime.fromtimestamp(self._clock.wall_s(), datetime.UTC).isoformat()


def redacted(study: StudySpec) -> StudySpec:
    """Return the study without its secrets, as it may be written down."""
    return StudySpec.model_validate(redact(study.model_dump(mode="json")))
