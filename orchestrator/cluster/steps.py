"""One trial cut into steps: borrow devices and open, then one load a step, then close. Knows no Ray."""

import logging
from typing import Protocol

from orchestrator.cluster.desk import Directive
from orchestrator.cluster.reports import Deployed, Ended, Interrupted, Measured, Report
from orchestrator.cluster.scores import score_so_far
from orchestrator.domain.deployment import StopReport
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, Pruned, TrialOutcome
from orchestrator.domain.study import StudySpec
from orchestrator.trials import TrialRun, end_of, score

logger = logging.getLogger(__name__)


class Counter(Protocol):
    """What a trial asks of the desk."""

    def borrow(self) -> float:
        """Wait for the trial's devices and return the seconds waited.

        Raises:
            InfeasibleError: there will never be as many.
        """
        ...

    def directive(self) -> Directive:
        """Return what to do before the next step."""
        ...


class TrialSteps:
    """Walks one trial; every step returns one report, and the last one comes after the engine is down."""

    def __init__(
        self, run: TrialRun, study: StudySpec, *, counter: Counter, known: frozenset[int] = frozenset()
    ) -> None:
        self._run = run
        self._study = study
        self._loads = study.load.loads
        self._counter = counter
        self._is_open = {load.step for load in self._loads} <= known  # nothing is left to measure: no engine is needed
        self._measurements: list[Measurement] = []

    @property
    def score(self) -> float | None:
        """Return the score of what is measured so far; None where nothing valid is."""
        return score_so_far(self._measurements, self._study)

    def step(self) -> Report:
        """Do what comes next. Never raises for what befalls the trial: that is how it ended."""
        try:
            return self._advance()
        except Exception as error:  # noqa: BLE001 - the trial boundary: every error becomes an outcome
            return self._end(end_of(error))

    def close(self) -> StopReport | None:
        """Take the engine down; idempotent."""
        return self._run.close()

    def _advance(self) -> Report:
        if len(self._measurements) == len(self._loads):
            return self._end(Completed(tuple(self._measurements), score(self._measurements, self._study)))
        match self._counter.directive():
            case Directive.STOP:
                return Interrupted(self.close())
            case Directive.PRUNE:
                return self._end(Pruned(tuple(self._measurements), self.score))
            case Directive.GO:
                return self._go_on()

    def _go_on(self) -> Report:
        if not self._is_open:
            return self._open()
        index = len(self._measurements)
        self._measurements.append(self._run.measure(self._loads[index]))
        return Measured(index, self._measurements[-1], self._run.replay_s)

    def _open(self) -> Deployed:
        waited_s = self._counter.borrow()
        self._run.open()
        self._is_open = True
        return Deployed(dict(self._run.facts), self._run.engine_start_s, waited_s)

    def _end(self, outcome: TrialOutcome) -> Ended:
        try:
            stopped = self.close()
        except Exception as error:
            logger.warning("the engine of a trial could not be taken down in good order", exc_info=True)
            stopped = StopReport(
                0.0, processes_gone=False, ports_free=False, memory_returned=None, leftovers=(str(error),)
            )
        return Ended(outcome, stopped)
