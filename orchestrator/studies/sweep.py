"""Carries a study through: each engine in turn by a runner, every event to the record, resumed where it was left."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.protocol import ModelRef
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.runner import Observer, PastTrial, Runner, SearchJob, TrialTimes
from orchestrator.domain.study import EngineChoice, StudySpec
from orchestrator.domain.trial import TrialSpec

SECONDS_PER_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Observers:
    """Tells several observers the same, in order: the record comes before the display."""

    parts: tuple[Observer, ...]

    def started(self, trial: TrialSpec) -> None:
        """Pass on that a trial was handed out."""
        for part in self.parts:
            part.started(trial)

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        """Pass on what a running engine said of itself."""
        for part in self.parts:
            part.deployed(trial, facts)

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:
        """Pass on one finished measurement."""
        for part in self.parts:
            part.measured(trial, measurement)

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        """Pass on how a trial ended."""
        for part in self.parts:
            part.ended(trial, outcome, times)


def run_sweep(
    study: StudySpec,
    *,
    study_id: str,
    model: ModelRef,
    interpreter: Path,
    folder: Path,
    runner: Runner,
    observer: Observer,
    clock: Clock,
    past: Iterable[PastTrial] = (),
) -> None:
    """Run every engine's search with an equal share of trials and of the time that is left.

    Raises:
        DeploymentError: no trial can be placed.
        KeyboardInterrupt: a person stopped it; nothing runs any more.
    """
    began_ns = clock.now_ns()
    known = tuple(past)
    for index, choice in enumerate(study.engines):
        spent_s = (clock.now_ns() - began_ns) / NS_PER_S
        job = SearchJob(
            study=study,
            study_id=study_id,
            choice=choice,
            model=model,
            interpreter=interpreter,
            folder=folder,
            trials=study.budget.trials,
            past=tuple(one for one in known if _belongs(one, choice)),
            deadline_s=_share_s(study, spent_s=spent_s, engines_left=len(study.engines) - index),
        )
        runner.run(job, observer)


def _belongs(past: PastTrial, choice: EngineChoice) -> bool:
    return past.trial.engine == choice.name


def _share_s(study: StudySpec, *, spent_s: float, engines_left: int) -> float | None:
    if study.budget.minutes is None:
        return None
    return max(0.0, study.budget.minutes * SECONDS_PER_MINUTE - spent_s) / engines_left
