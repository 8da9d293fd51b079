"""Runs a search in this process, one trial after the other, without a cluster."""

from adapters import registry
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.deployment import Deployer
from orchestrator.domain.outcome import Failed, TrialOutcome
from orchestrator.domain.runner import Observer, PastTrial, SearchJob, TrialTimes
from orchestrator.domain.trial import TrialSpec
from orchestrator.search import Proposal, Proposer
from orchestrator.search.spaces import space_of
from orchestrator.trials import TrialRun, run_trial, trial_spec


class LocalRunner:
    """Runs a search's trials one after the other; the same door as the cluster's runner."""

    def __init__(self, deployer: Deployer, clock: Clock) -> None:
        self._deployer = deployer
        self._clock = clock

    def run(self, job: SearchJob, observer: Observer) -> None:
        """Run until trials or minutes are spent, or the space is exhausted."""
        space = space_of(job.choice)
        search = job.study.search
        proposer = Proposer(space, sampler=search.sampler, seed=job.study.seed, prune_after=search.prune_after)
        for past in job.past:
            proposer.recall(past.trial.assignment, past.outcome, number=past.trial.number)
        past_by_number = {past.trial.number: past for past in job.past}
        began_ns = self._clock.now_ns()
        while not self._is_over(job, began_ns):
            proposal = proposer.ask()
            if proposal is None or proposal.number >= job.trials:
                return
            past_trial = past_by_number.get(proposal.number)
            proposer.tell(proposal.number, self._run_one(job, proposal, observer, past=past_trial))

    def _is_over(self, job: SearchJob, began_ns: int) -> bool:
        return job.deadline_s is not None and (self._clock.now_ns() - began_ns) / NS_PER_S >= job.deadline_s

    def _run_one(
        self, job: SearchJob, proposal: Proposal, observer: Observer, *, past: PastTrial | None
    ) -> TrialOutcome:
        trial = trial_spec(job, proposal.number, proposal.assignment)
        observer.started(trial)
        for _ in range(job.study.budget.max_retries + 1):
            outcome, times = self._attempt(job, trial, observer, past=past)
            if not isinstance(outcome, Failed):
                break
        observer.ended(trial, outcome, times)
        return outcome

    def _attempt(
        self, job: SearchJob, trial: TrialSpec, observer: Observer, *, past: PastTrial | None
    ) -> tuple[TrialOutcome, TrialTimes]:
        known = {one.step: one for one in past.measurements} if past is not None else {}
        run = TrialRun(
            trial,
            job.study,
            model=job.model,
            adapter=registry.get(job.choice.name),
            deployer=self._deployer,
            clock=self._clock,
            folder=job.folder / trial.trial_id,
            environment=job.environment,
            skip=known,
            calibration=job.calibration,
        )
        result = run_trial(
            run,
            opened=lambda: observer.deployed(trial, run.facts),
            measured=lambda one: None if one.step in known else observer.measured(trial, one),
            clock=self._clock,
        )
        return result.outcome, TrialTimes(result.wall_s, run.engine_start_s, run.replay_s)
