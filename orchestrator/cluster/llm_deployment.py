"""Deploys an engine through Ray Serve's own LLM replica: the second path to vLLM, spoken to through Serve's proxy.

The engine's environment builds the application; here it is watched from outside, so that Serve gets no second try.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray import cloudpickle, serve
from ray._private.ray_constants import WORKER_PROCESS_SETUP_HOOK_ENV_VAR
from ray.exceptions import RayError

from adapters.openai import Dialect
from adapters.protocol import LaunchPlan
from orchestrator.cluster import llm_program, names, serve_control
from orchestrator.cluster.llm_program import LOG_NAME, REPLICAS_NAME
from orchestrator.cluster.prestart import prestart_workers
from orchestrator.cluster.serve_app import NO_CAP
from orchestrator.deploy.lease import STATE_NAME
from orchestrator.deploy.log import read_tail
from orchestrator.deploy.readiness import NotReadyError, Probe, await_ready
from orchestrator.deploy.supervisor import Process, identify, is_running
from orchestrator.deploy.tree_record import TreeRecord
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.deployment import DeployRequest, StartTimes, StopReport
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import PlacementPlan

DELETE_TIMEOUT_S = 30.0
END_TIMEOUT_S = 5.0
LOOK_EVERY_S = 0.5
TELL_TIMEOUT_S = 30.0
HEALTH_PATH = "/v1/models"
FAILED = frozenset({"DEPLOY_FAILED", "UNHEALTHY"})


@dataclass(slots=True)
class LlmDeployment:
    """An engine inside Serve's LLM replica on this node; `tree` is the replica and all below it."""

    endpoint: Endpoint
    metrics_url: str | None
    root_pid: int
    is_same_host: bool
    log_path: Path
    times: StartTimes
    argv: tuple[str, ...]
    resolved: Mapping[str, str]
    app: str
    tree: TreeRecord
    clock: Clock
    report: StopReport | None = None

    def check_alive(self) -> None:
        """Return when the very processes that were started still run.

        Raises:
            DeploymentError: one of them ended, or Serve started another replica.
        """
        if self.report is not None:
            raise DeploymentError(f"{self.app}: the engine was stopped")
        gone = [one.pid for one in self.tree.refresh() if not is_running(one)]
        if gone:
            raise DeploymentError(f"{self.app}: processes {gone} of the engine ended", log_tail=_tail(self.log_path))

    def stop(self) -> StopReport:
        """Delete the application, end what it leaves behind, and verify that nothing runs. Idempotent."""
        if self.report is None:
            self.report = self._stop()
        return self.report

    def _stop(self) -> StopReport:
        began_ns = self.clock.now_ns()
        is_deleted, left = _take_down(self.app, self.tree)
        told = tuple(f"process {one.pid} still runs" for one in left)
        return StopReport(
            stop_s=(self.clock.now_ns() - began_ns) / NS_PER_S,
            processes_gone=not left,
            ports_free=is_deleted,
            memory_returned=None,
            leftovers=told if is_deleted else (*told, f"Serve application {self.app} is still there"),
        )


def deploy_llm(
    request: DeployRequest, launch: LaunchPlan, plan: PlacementPlan, *, runtime_env: Mapping[str, Any], clock: Clock
) -> LlmDeployment:
    """Deploy and return once a real generated token came through Serve's proxy.

    Raises:
        DeploymentError: it did not start within its deadline, or Serve tried a second replica; nothing of it is left.
    """
    start = _Start(request, launch, plan, dict(runtime_env), clock, clock.now_ns(), _name(request))
    return start.run()


def _name(request: DeployRequest) -> str:
    return names.app_name(request.trial_id, ray.get_runtime_context().get_job_id())


@dataclass(frozen=True, slots=True)
class _Start:
    """One try to deploy."""

    request: DeployRequest
    launch: LaunchPlan
    plan: PlacementPlan
    runtime_env: dict[str, Any]
    clock: Clock
    asked_ns: int
    app: str

    def run(self) -> LlmDeployment:
        folder = self.request.folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for name in (LOG_NAME, REPLICAS_NAME):
            (folder / name).unlink(missing_ok=True)
        tree: TreeRecord | None = None
        try:
            self._build(folder)
            root = self._await_replica(folder)
            tree = TreeRecord(root, folder / STATE_NAME)
            return self._prove(folder, tree)
        except BaseException as error:
            _take_down(self.app, tree)
            if isinstance(error, NotReadyError | RayError):
                raise self._failure(error, folder) from error
            raise

    def _build(self, folder: Path) -> None:
        cloudpickle.register_pickle_by_value(llm_program)  # type: ignore[no-untyped-call]  # Ray leaves it untyped
        environment = {**self.runtime_env, "py_executable": str(self.request.interpreter), "env_vars": self._env()}
        config = self._config(_importing(environment))
        prestart_workers(1, config["runtime_env"])  # imports beside the task below
        decorate: Any = ray.remote(num_cpus=0, runtime_env=environment)
        remote = decorate(llm_program.deploy)
        where = {"name": self.app, "route_prefix": f"/{self.app}", "folder": str(folder), "cpus": self.request.cpus}
        ray.get(remote.remote(config, **where), timeout=self.request.ready_timeout_s)

    def _env(self) -> dict[str, str]:
        given: dict[str, str] = self.runtime_env.get("env_vars", {})
        return {**given, **self.launch.env}

    def _config(self, environment: dict[str, Any]) -> dict[str, Any]:
        bundles = [dict(one) for one in self.plan.bundles]
        has_gpu = any("GPU" in one for one in bundles)
        return {
            **(self.launch.serve_llm or {}),
            **({} if has_gpu else {"accelerator_config": {"kind": "cpu"}}),
            "runtime_env": environment,
            "placement_group_config": {"bundles": bundles, "strategy": self.plan.strategy},
            "deployment_config": {
                "num_replicas": 1,
                "autoscaling_config": None,
                "max_ongoing_requests": NO_CAP,
                "ray_actor_options": {"num_cpus": 0},
            },
        }

    def _await_replica(self, folder: Path) -> Process:
        while True:
            self._look(folder)
            pids = _replicas(folder)
            found = identify(pids[0]) if pids else None
            if found is not None:
                return found
            self._pause("start a replica")

    def _await_running(self, folder: Path, tree: TreeRecord) -> None:
        """Wait for Serve to call the application running: until then its proxy holds requests back."""
        while self._look(folder, tree) != "RUNNING":
            self._pause("call the application running")

    def _pause(self, what: str) -> None:
        if (self.clock.now_ns() - self.asked_ns) / NS_PER_S > self.request.ready_timeout_s:
            raise NotReadyError(f"expected Serve to {what} within {self.request.ready_timeout_s:g} s; it did not")
        time.sleep(LOOK_EVERY_S)

    def _look(self, folder: Path, tree: TreeRecord | None = None) -> str:
        if tree is not None:
            tree.refresh()
        state = serve_control.app_states().get(self.app)
        if state is None or state.status in FAILED:
            raise NotReadyError(f"Serve gave the application up: {state.message if state else 'deleted'}")
        if len(_replicas(folder)) > 1 or (tree is not None and not is_running(tree.root)):
            raise NotReadyError("the engine ended inside its replica, and Serve tried another one")
        return state.status

    def _prove(self, folder: Path, tree: TreeRecord) -> LlmDeployment:
        base_url = serve_control.http_base_url()
        if base_url is None:
            raise NotReadyError("Serve's LLM replica needs Serve's HTTP proxy, and this Serve was started without one")
        endpoint = Endpoint(f"{base_url}/{self.app}", self.launch.served_model, via="serve")
        began_ns = self.clock.now_ns()
        self._await_running(folder, tree)
        ready = await_ready(self._probe(endpoint, tree, began_ns=began_ns), self.clock)
        tree.refresh()
        told = self._tell(tree)
        return LlmDeployment(
            endpoint=endpoint,
            metrics_url=None,
            root_pid=tree.root.pid,
            is_same_host=True,
            log_path=folder / LOG_NAME,
            times=StartTimes((began_ns - self.asked_ns) / NS_PER_S, *ready),
            argv=("ray.serve.llm", json.dumps(self.launch.serve_llm, sort_keys=True)),
            resolved=told,
            app=self.app,
            tree=tree,
            clock=self.clock,
        )

    def _probe(self, endpoint: Endpoint, tree: TreeRecord, *, began_ns: int) -> Probe:
        def watch() -> None:
            if not is_running(tree.root):
                raise NotReadyError("the engine's replica ended")

        return Probe(
            endpoint=endpoint,
            health_path=HEALTH_PATH,
            began_ns=began_ns,
            deadline_ns=self.asked_ns + round(self.request.ready_timeout_s * NS_PER_S),
            watch=watch,
            dialect=Dialect("completions", self.request.adapter.capabilities),
        )

    def _tell(self, tree: TreeRecord) -> dict[str, str]:
        """Ask the replica for its settings, and make sure that it is the one whose tree is watched."""
        deployments = serve.status().applications[self.app].deployments
        server = next(name for name in deployments if "Ingress" not in name)
        handle = serve.get_deployment_handle(server, app_name=self.app)
        fields = dict(self.launch.readback.fields) if self.launch.readback is not None else {}
        told = handle.tell.remote(fields).result(timeout_s=TELL_TIMEOUT_S)
        if told["pid"] != tree.root.pid:
            raise NotReadyError(f"the replica is process {told['pid']}, not {tree.root.pid} that was started")
        return {name: value for name, value in told["settings"].items() if value is not None}

    def _failure(self, error: Exception, folder: Path) -> DeploymentError:
        tail = _tail(folder / LOG_NAME)
        kind = self.request.adapter.classify_failure(tail or str(error))
        return DeploymentError(f"{self.request.adapter.name} in Serve: {error}", kind=kind, log_tail=tail)


def _importing(environment: dict[str, Any]) -> dict[str, Any]:
    """Return the replica's environment to the letter: a worker started ahead is taken only by an equal one."""
    hook = {WORKER_PROCESS_SETUP_HOOK_ENV_VAR: llm_program.IMPORTING_HOOK}
    own = {"worker_process_setup_hook": llm_program.SERVES_OWN_HOOK, "env_vars": {**environment["env_vars"], **hook}}
    return {**environment, **own}


def _replicas(folder: Path) -> list[int]:
    record = folder / REPLICAS_NAME
    if not record.exists():
        return []
    return [int(json.loads(line)["pid"]) for line in record.read_text(encoding="utf-8").splitlines()]


def _take_down(app: str, tree: TreeRecord | None) -> tuple[bool, list[Process]]:
    """Delete the application and end its processes, which outlive it; say whether it is gone, and what runs still."""
    is_deleted = False
    if tree is not None:
        tree.refresh()
    with serve_control.ignoring_ray():
        is_deleted = serve_control.delete_app(app, DELETE_TIMEOUT_S)
    return is_deleted, tree.end(END_TIMEOUT_S) if tree is not None else []


def _tail(log: Path) -> str:
    return read_tail(log, os.environ)
