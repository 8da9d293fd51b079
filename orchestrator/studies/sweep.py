"""Carries a study through: each engine in turn by a runner, every event to the record, resumed where it was left."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.calibration import Calibration
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Infeasible, TrialOutcome
from orchestrator.domain.runner import Observer, PastTrial, Runner, SearchJob, TrialTimes
from orchestrator.domain.study import StudySpec
from orchestrator.domain.trial import TrialSpec
from orchestrator.studies.candidates import OBSTACLES, Candidate
from orchestrator.trials import InfeasibleError, end_of, trial_spec

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
    candidates: Sequence[Candidate],
    folder: Path,
    runner: Runner,
    observer: Observer,
    clock: Clock,
    past: Iterable[PastTrial] = (),
    calibration: Calibration | None = None,
) -> None:
    """Run every candidate's search with an equal share of trials and of the time that is left.

    One that cannot run here at all is recorded as such and costs nothing more.

    Raises:
        DeploymentError: no trial can be placed.
        KeyboardInterrupt: a person stopped it; nothing runs any more.
    """
    began_ns = clock.now_ns()
    known = tuple(past)
    for index, candidate in enumerate(candidates):
        spent_s = (clock.now_ns() - began_ns) / NS_PER_S
        job = SearchJob(
            study=study,
            study_id=study_id,
            choice=candidate.choice,
            model=candidate.model,
            environment=candidate.environment,
            folder=folder,
            trials=study.budget.trials,
            past=tuple(one for one in known if _counts(one, candidate)),
            deadline_s=_share_s(study, spent_s=spent_s, candidates_left=len(candidates) - index),
            calibration=calibration,
        )
        if candidate.obstacles:
            _record_obstacles(job, candidate, observer)
        else:
            runner.run(job, observer)


def _counts(past: PastTrial, candidate: Candidate) -> bool:
    """Say whether a past trial is the candidate's, and did not end for an obstacle, which may have gone since."""
    if past.trial.label != candidate.choice.candidate:
        return False
    outcome = past.outcome
    return not (isinstance(outcome, Infeasible) and any(one.key in OBSTACLES for one in outcome.violations))


def _record_obstacles(job: SearchJob, candidate: Candidate, observer: Observer) -> None:
    """Record the defaults as infeasible: what stops them would stop every trial."""
    trial = trial_spec(job, 0, {})
    observer.started(trial)
    observer.ended(trial, end_of(InfeasibleError(candidate.obstacles)), TrialTimes(0.0, 0.0, 0.0))


def _share_s(study: StudySpec, *, spent_s: float, candidates_left: int) -> float | None:
    if study.budget.minutes is None:
        return None
    return max(0.0, study.budget.minutes * SECONDS_PER_MINUTE - spent_s) / candidates_left
