"""The Tune trainable of one trial: a step is the deployment, then one load, then the end. Thin over `TrialSteps`."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray import tune

from adapters import registry
from adapters.protocol import ModelRef, Violation
from orchestrator.cluster import worker_process
from orchestrator.cluster.deployer import RayDeployer, place
from orchestrator.cluster.desk import Directive
from orchestrator.cluster.load_workers import NodeLaunch, launch_on
from orchestrator.cluster.reports import Deployed, Ticket, to_result
from orchestrator.cluster.steps import TrialSteps
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import PlacementPlan
from orchestrator.domain.runner import SearchJob
from orchestrator.models import ensure_here
from orchestrator.trials import InfeasibleError, TrialRun, placement_of

TICKET = "ticket"


@dataclass(frozen=True, slots=True)
class DeskCounter:
    """The desk as one trial sees it: its devices, its directive; `absence` says what it lacks beside devices."""

    desk: Any
    holder: str
    plan: PlacementPlan
    capacity: int
    misfit: Violation | None
    absence: DeploymentError | None = None

    def borrow(self) -> float:
        """Wait for the trial's devices and return the seconds waited.

        Raises:
            InfeasibleError: the queue or the cluster is too small for the configuration.
            DeploymentError: weights or load workers are not to be had here; no device was asked for.
        """
        if self.absence is not None:
            raise self.absence
        if self.plan.devices > self.capacity:
            allowed = f"at most {self.capacity} devices (budget.max_devices, and what the cluster has)"
            raise InfeasibleError([Violation("tp * pp", self.plan.devices, allowed)])
        if self.misfit is not None:
            raise InfeasibleError([self.misfit])
        waited_s: float = ray.get(self.desk.borrow.remote(self.holder, self.plan.devices))
        return waited_s

    def directive(self) -> Directive:
        """Return what to do before the next step."""
        directive: Directive = ray.get(self.desk.directive.remote(self.holder))
        return directive


@dataclass(frozen=True, slots=True)
class Site:
    """What all trials of a search share: the desk lends `capacity` devices; the rest is the driver's own."""

    job: SearchJob
    desk: Any
    capacity: int
    cwd: Path
    runtime_env: Mapping[str, Any]


class TrialTrainable(tune.Trainable):
    """Runs trials one after the other in one actor; Tune hands it the next when the last one's engine is down."""

    def setup(self, config: dict[str, Any], site: Site) -> None:  # type: ignore[override]  # by tune.with_parameters
        """Take the first trial; nothing is deployed yet."""
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        self._niceness = worker_process.level()
        os.chdir(site.cwd)  # relative paths of a study mean the driver's folder
        self._site = site
        self._take(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next trial."""
        self._steps.close()
        self._take(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Do the trial's next step and report it."""
        report = self._steps.step()
        if isinstance(report, Deployed) and self._niceness:
            report = replace(report, facts={**report.facts, "client.niceness": str(self._niceness)})
        return to_result(report, self._steps.score)

    def cleanup(self) -> None:
        """Take the engine down if the trial did not come to its own end."""
        self._steps.close()

    def _take(self, config: dict[str, Any]) -> None:
        ticket = Ticket.model_validate_json(config[TICKET])
        ray.get(self._site.desk.enter.remote(self.trial_id, ray.get_runtime_context().current_actor))
        self._steps = self._walk(ticket)

    def _walk(self, ticket: Ticket) -> TrialSteps:
        job, trial, clock = self._site.job, ticket.trial, SystemClock()
        adapter = registry.get(trial.engine)
        known = {one.step: one for one in ticket.known}
        config = adapter.config_type.model_validate(trial.config)
        model, absence = _weights_of(job)
        launch, unreachable = _launch_of(job)
        plan = placement_of(config, adapter=adapter, model=model, device=job.study.deploy.device)
        _, misfit = place(plan, job.study.deploy.via)
        run = TrialRun(
            trial,
            job.study,
            model=model,
            adapter=adapter,
            deployer=RayDeployer(clock, self._site.runtime_env),
            clock=clock,
            folder=job.folder / trial.trial_id,
            environment=job.environment,
            skip=known,
            calibration=job.calibration,
            launch=launch,
        )
        return TrialSteps(
            run,
            job.study,
            counter=DeskCounter(
                self._site.desk, self.trial_id, plan, self._site.capacity, misfit, absence or unreachable
            ),
            known=frozenset(known),
        )


def _weights_of(job: SearchJob) -> tuple[ModelRef, DeploymentError | None]:
    """Return the weights as they lie on this node; or the driver's reference with why they are not here."""
    try:
        return ensure_here(job.model, job.choice.model or job.study.model), None
    except DeploymentError as error:
        return job.model, error


def _launch_of(job: SearchJob) -> tuple[NodeLaunch | None, DeploymentError | None]:
    """Return what starts load workers on other nodes; or nothing, with why they are not to be had."""
    try:
        return launch_on(job.study.deploy.load_nodes), None
    except DeploymentError as error:
        return None, error
