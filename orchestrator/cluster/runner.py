"""Runs a search on Ray Tune: trials as actors, engines as Serve applications, the roster as the book of both."""

import contextlib
import logging
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray import tune

from orchestrator.cluster import names, serve_control
from orchestrator.cluster.deployer import DELETE_TIMEOUT_S
from orchestrator.cluster.desk import open_desk
from orchestrator.cluster.interrupts import gentle_interrupt, no_interrupt
from orchestrator.cluster.placement import SLIVER
from orchestrator.cluster.prestart import prestart_workers
from orchestrator.cluster.reports import METRIC
from orchestrator.cluster.roster import Roster
from orchestrator.cluster.searcher import RosterCallback, RosterSearcher
from orchestrator.cluster.trainable import Site, TrialTrainable
from orchestrator.deploy.leftovers import sweep
from orchestrator.domain.clock import Clock
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.runner import Observer, SearchJob
from orchestrator.search import Proposer
from orchestrator.search.spaces import space_of

AHEAD = 2  # one for the next replica, ready; one that becomes ready meanwhile
EVERYTHING = sys.maxsize  # the searcher says when it is over


class RayRunner:
    """Runs searches on Ray, within a session that is open."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(self, job: SearchJob, observer: Observer) -> None:
        """Run until trials or minutes are spent, the space is exhausted, or a person stops it.

        Raises:
            DeploymentError: the cluster has no device of the kind the study asks for.
            KeyboardInterrupt: a person stopped it; engines are down, at the first Ctrl-C with their load measured.
        """
        capacity = self._capacity(job)
        space = space_of(job.choice)
        search = job.study.search
        proposer = Proposer(space, sampler=search.sampler, seed=job.study.seed, prune_after=search.prune_after)
        roster = Roster(job, proposer, observer, clock=self._clock, max_live=capacity)
        desk = open_desk(capacity)
        prestart_workers(AHEAD)
        try:
            with gentle_interrupt(roster.stop), _quiet_tune(), contextlib.redirect_stdout(sys.stderr):
                self._tune(job, roster, desk, capacity=capacity)
        except BaseException:
            with no_interrupt():
                _end_now(job, desk)
            raise
        finally:
            ray.kill(desk)
        if roster.is_stopping:
            raise KeyboardInterrupt

    def _capacity(self, job: SearchJob) -> int:
        device = job.study.deploy.device
        resources = serve_control.all_resources()
        total = int(resources.get(device, 0))
        if total < 1:
            raise DeploymentError(
                f"no trial can be placed: deploy.device is {device}, of which the cluster has {total}; "
                f"it has {resources}"
            )
        return min(total, job.study.budget.max_devices)

    def _tune(self, job: SearchJob, roster: Roster, desk: Any, *, capacity: int) -> None:  # noqa: ANN401
        runtime_env = dict(ray.get_runtime_context().runtime_env)
        site = Site(replace(job, past=()), desk, capacity, Path.cwd(), runtime_env)
        trainable = tune.with_parameters(TrialTrainable, site=site)
        # A trial takes no CPU that engines could want, and runs where its folder is: on the driver's node.
        bundle = {names.node_resource(serve_control.here()["Resources"]): SLIVER}
        with tempfile.TemporaryDirectory(prefix="tune-", dir=serve_control.session_folder()) as storage:
            tune.run(
                trainable,
                name=job.study_id,
                metric=METRIC,
                mode="max",
                resources_per_trial=tune.PlacementGroupFactory([bundle]),
                num_samples=EVERYTHING,
                search_alg=RosterSearcher(roster),
                storage_path=storage,
                checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
                trial_dirname_creator=lambda trial: trial.trial_id,
                verbose=0,
                reuse_actors=True,
                raise_on_failed_trial=False,
                callbacks=[RosterCallback(roster, desk, take_down=_take_down)],
            )


def _take_down(trial_id: str) -> None:
    prefix = names.app_prefix(trial_id, ray.get_runtime_context().get_job_id())
    if not serve_control.delete_apps(prefix, DELETE_TIMEOUT_S):
        raise DeploymentError(
            f"Serve application {prefix}... of a lost trial is there after {DELETE_TIMEOUT_S:g} s still"
        )


def _end_now(job: SearchJob, desk: Any) -> None:  # noqa: ANN401 - Ray types no actor handle
    """End trials first, so that none deploys anything any more, then their applications, then what they recorded."""
    with serve_control.ignoring_ray():
        for actor in ray.get(desk.actors.remote(), timeout=DELETE_TIMEOUT_S):
            ray.kill(actor)
    with serve_control.ignoring_ray():
        serve_control.delete_apps(names.job_prefix(ray.get_runtime_context().get_job_id()), DELETE_TIMEOUT_S)
    if job.folder.exists():
        sweep(job.folder)


@contextlib.contextmanager
def _quiet_tune() -> Iterator[None]:
    """Keep Tune from warning that it finds no logs of its own: the journal is the record."""
    logger = logging.getLogger("ray.tune")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
