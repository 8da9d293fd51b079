"""The driver's book of a search: who runs next, what was reported, who is told of it. Knows no Ray."""

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from orchestrator.cluster.reports import Deployed, Ended, Interrupted, Measured, Report, Ticket
from orchestrator.cluster.scores import score_so_far
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.deployment import StopReport
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Failed, TrialOutcome
from orchestrator.domain.runner import Observer, SearchJob, TrialTimes
from orchestrator.domain.trial import TrialSpec
from orchestrator.search import Proposal
from orchestrator.trials import trial_spec

logger = logging.getLogger(__name__)


class Asker(Protocol):
    """What the roster asks of a proposer."""

    def ask(self) -> Proposal | None:
        """Propose the next trial; None: nothing is left."""
        ...

    def tell(self, number: int, outcome: TrialOutcome) -> None:
        """Tell how a proposed trial ended."""
        ...

    def recall(self, assignment: Mapping[str, Any], outcome: TrialOutcome | None, *, number: int | None = None) -> None:
        """Take up a trial of an earlier run."""
        ...

    def should_prune(self, number: int, step_index: int, value: float) -> bool:
        """Note what a trial reached at a load and say whether it is clearly behind."""
        ...

    def note(self, number: int, step_index: int, value: float) -> None:
        """Note what a trial reached at a load without judging it."""
        ...


class Answer(StrEnum):
    """Why nobody is handed out."""

    WAIT = "wait"
    OVER = "over"


@dataclass(slots=True)
class _Case:
    """One trial of this run: `known` holds every measurement of it, from whichever run or attempt."""

    trial: TrialSpec
    known: dict[int, Measurement]
    retries_left: int
    began_ns: int = 0
    reached: list[Measurement] = field(default_factory=list)
    engine_start_s: float = 0.0
    replay_s: float = 0.0
    waited_s: float = 0.0
    failure: Failed | None = None

    def begin(self, now_ns: int) -> None:
        self.began_ns, self.reached = now_ns, []
        self.engine_start_s = self.replay_s = self.waited_s = 0.0


class Roster:
    """Hands out trials and turns what comes back into the observer's events, each exactly once a trial.

    `max_live` trials run at once; the job's deadline counts from here.
    """

    def __init__(self, job: SearchJob, proposer: Asker, observer: Observer, *, clock: Clock, max_live: int) -> None:
        self._job = job
        self._proposer = proposer
        self._observer = observer
        self._clock = clock
        self._max_live = max_live
        self._began_ns = clock.now_ns()
        self._live: dict[str, _Case] = {}
        self._retries: deque[_Case] = deque()
        self._is_exhausted = False
        self._is_stopping = False
        self._past = {past.trial.number: past for past in job.past}
        self._recall()

    @property
    def live(self) -> tuple[str, ...]:
        """Return who runs, as named at handing out."""
        return tuple(self._live)

    @property
    def is_stopping(self) -> bool:
        """Return whether a person stopped the search."""
        return self._is_stopping

    def stop(self) -> None:
        """Hand out nobody any more: a person stopped the search."""
        self._is_stopping = True

    def hand_out(self, holder: str) -> Ticket | Answer:
        """Hand the next trial to `holder`: a repeated one first, then what the proposer says."""
        if len(self._live) >= self._max_live:
            return Answer.WAIT
        case = self._next_case()
        if case is None:
            return Answer.WAIT if self._live else Answer.OVER
        case.begin(self._clock.now_ns())
        self._live[holder] = case
        return Ticket(trial=case.trial, known=tuple(case.known.values()))

    def take(self, holder: str, report: Report) -> bool:
        """Take in a report and return whether the trial is clearly behind and should stop before its next load."""
        case = self._live[holder]
        match report:
            case Deployed():
                case.engine_start_s, case.waited_s = report.engine_start_s, report.waited_s
                self._observer.deployed(case.trial, report.facts)
            case Measured():
                return self._measured(case, report)
            case Ended():
                self._warn_of_leftovers(case, report.stopped)
                self._ended(holder, report.outcome)
            case Interrupted():
                self._warn_of_leftovers(case, report.stopped)
                del self._live[holder]
        return False

    def lose(self, holder: str, reason: str) -> None:
        """Take in that a trial's actor died or broke; its engine is down."""
        self._ended(holder, Failed(f"the trial's process was lost: {reason}"))

    def trial_of(self, holder: str) -> TrialSpec | None:
        """Return the trial that `holder` runs, None where it runs none."""
        case = self._live.get(holder)
        return None if case is None else case.trial

    def _recall(self) -> None:
        for number, past in sorted(self._past.items()):
            self._proposer.recall(past.trial.assignment, past.outcome, number=number)
            for index in range(len(past.measurements)):
                value = score_so_far(past.measurements[: index + 1], self._job.study)
                if value is not None:
                    self._proposer.note(number, index, value)

    @property
    def _is_over(self) -> bool:
        deadline_s = self._job.deadline_s
        elapsed_s = (self._clock.now_ns() - self._began_ns) / NS_PER_S
        return self._is_stopping or (deadline_s is not None and elapsed_s >= deadline_s)

    def _next_case(self) -> _Case | None:
        if self._is_over:
            self._give_up_retries()
            return None
        if self._retries:
            return self._retries.popleft()
        proposal = None if self._is_exhausted else self._proposer.ask()
        if proposal is None or proposal.number >= self._job.trials:
            self._is_exhausted = True
            return None
        trial = trial_spec(self._job, proposal.number, proposal.assignment)
        past = self._past.get(proposal.number)
        known = {one.step: one for one in past.measurements} if past is not None else {}
        self._observer.started(trial)
        return _Case(trial, known, self._job.study.budget.max_retries)

    def _give_up_retries(self) -> None:
        while self._retries:
            case = self._retries.popleft()
            if case.failure is not None and not self._is_stopping:
                self._tell(case, case.failure)

    def _measured(self, case: _Case, report: Measured) -> bool:
        measurement = report.measurement
        case.replay_s = report.replay_s
        case.reached.append(measurement)
        if measurement.step not in case.known:
            case.known[measurement.step] = measurement
            self._observer.measured(case.trial, measurement)
        study = self._job.study
        value = score_so_far(case.reached, study)
        if value is None:
            return False
        if len(case.reached) == len(study.load.loads):
            self._proposer.note(case.trial.number, report.index, value)
            return False
        return self._proposer.should_prune(case.trial.number, report.index, value) and study.search.prune

    def _ended(self, holder: str, outcome: TrialOutcome) -> None:
        case = self._live.pop(holder)
        if isinstance(outcome, Failed) and case.retries_left and not self._is_stopping:
            logger.warning("%s failed and is tried again: %s", case.trial.trial_id, outcome.reason)
            case.retries_left -= 1
            case.failure = outcome
            self._retries.append(case)
            return
        self._tell(case, outcome)

    def _tell(self, case: _Case, outcome: TrialOutcome) -> None:
        wall_s = (self._clock.now_ns() - case.began_ns) / NS_PER_S - case.waited_s
        self._proposer.tell(case.trial.number, outcome)
        self._observer.ended(case.trial, outcome, TrialTimes(wall_s, case.engine_start_s, case.replay_s))

    def _warn_of_leftovers(self, case: _Case, stopped: StopReport | None) -> None:
        if stopped is not None and stopped.leftovers:
            logger.warning("%s left something behind: %s", case.trial.trial_id, "; ".join(stopped.leftovers))
