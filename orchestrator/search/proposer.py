"""Asks Optuna for the next configuration and tells it how trials ended. Holds no results of its own beyond that.

What is proposed depends on the seed, the trial's number and what was told before, so a resumed search goes on as an
uninterrupted one would.
"""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import TrialState

from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned, TrialOutcome
from orchestrator.search.distributions import distributions, grid, to_assignment, to_params
from orchestrator.search.pruning import MIN_OTHERS, is_behind
from search_spaces import Assignment, SearchSpace
from workloads.digest import canonical_json, digest_bytes

SamplerName = Literal["tpe", "random"]
_Begun = tuple[Assignment, optuna.Trial | None]

DEFAULTS = 0
STARTUP_TRIALS = 5  # drawn at random before TPE models anything: half of a small budget, not all of it
SAMPLER_TRIES = 8  # then uniform draws: a sampler that has settled repeats itself
RANDOM_TRIES = 40  # then the grid is walked: nearly everything was tried or is forbidden
FEASIBLE, INFEASIBLE = -1.0, 1.0  # Optuna: a constraint is violated above zero
CONSTRAINT = "feasible"


class Proposal(NamedTuple):
    """A trial's number and the flags it sets; number 0 sets none, which is the engine's defaults."""

    number: int
    assignment: Assignment


class Proposer:
    """Proposes each configuration of a space once, defaults first, and learns from how trials ended.

    `prune_after` trials must have been measured at a load before one is stopped there.
    """

    def __init__(self, space: SearchSpace, *, sampler: SamplerName, seed: int, prune_after: int = MIN_OTHERS) -> None:
        self._space = space
        self._prune_after = prune_after
        self._sampler_name = sampler
        self._seed = seed
        self._distributions = distributions(space)
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # its INFO lines would tear the live table
        self._study = optuna.create_study(direction="maximize", sampler=RandomSampler(seed=seed))
        self._live: dict[int, optuna.Trial | None] = {}
        self._seen: set[str] = set()
        self._unfinished: deque[Proposal] = deque()
        self._next_number = DEFAULTS
        self._values: dict[int, dict[int, float]] = {}

    def ask(self) -> Proposal | None:
        """Propose the next trial: unfinished ones first, then the defaults, then new ones; None: nothing is left."""
        if self._unfinished:
            return self._unfinished.popleft()
        number = self._next_number
        begun: _Begun | None = ({}, self._begin({})) if number == DEFAULTS else self._draw(number)
        if begun is None:
            return None
        assignment, trial = begun
        self._register(number, assignment, trial)
        return Proposal(number, assignment)

    def tell(self, number: int, outcome: TrialOutcome) -> None:
        """Tell how a proposed trial ended.

        Raises:
            ValueError: no such trial is running, or its score is not finite.
        """
        if number not in self._live:
            raise ValueError(f"trial {number} is not running; running: {sorted(self._live)}")
        score = _score(outcome)
        if score is not None and not math.isfinite(score):
            raise ValueError(f"trial {number}: a score is finite, seen {score}")
        trial = self._live.pop(number)
        if trial is not None:
            self._tell(trial, outcome)

    def recall(self, assignment: Mapping[str, Any], outcome: TrialOutcome | None, *, number: int | None = None) -> None:
        """Take up a trial of an earlier run, in the order of numbers; without an outcome it is proposed again first.

        `number` defaults to the next one.
        """
        number = self._next_number if number is None else number
        kept = dict(assignment)
        self._register(number, kept, self._begin(kept))
        if outcome is None:
            self._unfinished.append(Proposal(number, kept))
        else:
            self.tell(number, outcome)

    def should_prune(self, number: int, step_index: int, value: float) -> bool:
        """Note what a trial reached at its `step_index`-th load and say whether it is clearly behind; never trial 0.

        Ask after every load but the last, where there is nothing left to save.
        """
        self.note(number, step_index, value)
        others = [one for other, one in self._values[step_index].items() if other != number]
        return number != DEFAULTS and is_behind(value, others, min_others=self._prune_after)

    def note(self, number: int, step_index: int, value: float) -> None:
        """Note what a trial reached at a load without judging it, as for trials of an earlier run.

        Raises:
            ValueError: the value is not finite.
        """
        if not math.isfinite(value):
            raise ValueError(f"trial {number}, load {step_index}: a value is finite, seen {value}")
        self._values.setdefault(step_index, {})[number] = value

    def _register(self, number: int, assignment: Assignment, trial: optuna.Trial | None) -> None:
        self._seen.add(self._key(assignment))
        self._live[number] = trial
        self._next_number = max(self._next_number, number + 1)

    def _draw(self, number: int) -> _Begun | None:
        for attempt in range(SAMPLER_TRIES + RANDOM_TRIES):
            self._study.sampler = self._sampler(number, attempt)
            trial = self._study.ask(self._distributions)
            assignment = to_assignment(self._space, trial.params)
            if self._is_new(assignment):
                return assignment, trial
            self._study.tell(trial, state=TrialState.FAIL)
        left = next((one for one in grid(self._space) if self._is_new(one)), None)
        return None if left is None else (left, self._begin(left))

    def _sampler(self, number: int, attempt: int) -> BaseSampler:
        """Make the sampler of one draw, seeded by its place, so that resuming needs no generator's state."""
        seed = int(digest_bytes(f"{self._seed}/{number}/{attempt}".encode())[:8], 16)
        if self._sampler_name == "tpe" and attempt < SAMPLER_TRIES:
            return TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS)
        return RandomSampler(seed=seed)

    def _begin(self, assignment: Assignment) -> optuna.Trial | None:
        """Open a trial with given parameters; None where the space does not hold them and Optuna cannot learn."""
        params = to_params(self._space, {**self._space.defaults(), **assignment})
        if params is None:
            return None
        self._study.enqueue_trial(params)
        return self._study.ask(self._distributions)

    def _is_new(self, assignment: Assignment) -> bool:
        return self._key(assignment) not in self._seen and not self._space.violations(assignment)

    def _key(self, assignment: Assignment) -> str:
        return canonical_json({**self._space.defaults(), **assignment})

    def _tell(self, trial: optuna.Trial, outcome: TrialOutcome) -> None:
        match outcome:
            case Completed(score=score):
                trial.set_constraint(CONSTRAINT, FEASIBLE)
                self._study.tell(trial, score)
            case Infeasible():
                trial.set_constraint(CONSTRAINT, INFEASIBLE)
                self._study.tell(trial, 0.0)  # Optuna wants a value; TPE ranks violated trials by the constraint alone
            case Failed():
                self._study.tell(trial, state=TrialState.FAIL)
            case Pruned(measurements=measurements, score=score):
                trial.set_constraint(CONSTRAINT, FEASIBLE)
                if score is not None:
                    trial.report(score, len(measurements))
                self._study.tell(trial, state=TrialState.PRUNED)


def _score(outcome: TrialOutcome) -> float | None:
    return outcome.score if isinstance(outcome, Completed | Pruned) else None
