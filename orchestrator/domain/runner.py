"""Who runs a search and who watches it: the seam between what to run and how trials run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from adapters.protocol import ModelRef
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.study import EngineChoice, StudySpec
from orchestrator.domain.trial import TrialSpec


@dataclass(frozen=True, slots=True)
class TrialTimes:
    """Where a trial's wall time went, seconds; `overhead_s` is what neither the engine's start nor the replays used."""

    wall_s: float
    engine_start_s: float
    replay_s: float

    @property
    def overhead_s(self) -> float:
        """Return wall time less engine start-up and replay."""
        return self.wall_s - self.engine_start_s - self.replay_s


@dataclass(frozen=True, slots=True)
class PastTrial:
    """A trial that an earlier run of the study began; `outcome` is None where it did not end."""

    trial: TrialSpec
    measurements: tuple[Measurement, ...]
    outcome: TrialOutcome | None


@dataclass(frozen=True, slots=True)
class SearchJob:
    """One candidate's search within one study: what a runner needs and nothing it must guess.

    `folder` is a local path that every trial can write to; a trial's files lie in `folder / trial_id`. `past` holds
    what the journal knows: ended trials are told to the sampler, unfinished ones run first and skip the loads they
    have. `calibration` says what the client can do where it will run, None where that was not measured.
    """

    study: StudySpec
    study_id: str
    choice: EngineChoice
    model: ModelRef
    environment: EngineEnvironment
    folder: Path
    trials: int
    past: tuple[PastTrial, ...] = ()
    deadline_s: float | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    calibration: Calibration | None = None


class Observer(Protocol):
    """Watches a search from the driver; the only one who writes records."""

    def started(self, trial: TrialSpec) -> None:
        """Note that a trial was handed out."""
        ...

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        """Note what the running engine said of itself: argv, start times, version."""
        ...

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:
        """Note one finished measurement."""
        ...

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        """Note how a trial ended; comes once a trial, after its engine is gone."""
        ...


class Runner(Protocol):
    """Runs a search: asks for configurations, runs their trials, tells the outcomes."""

    def run(self, job: SearchJob, observer: Observer) -> None:
        """Run until the budget is spent or a person stops it.

        Raises:
            DeploymentError: the cluster cannot carry any trial; says with which numbers.
            KeyboardInterrupt: a person stopped it; everything started is down.
        """
        ...
