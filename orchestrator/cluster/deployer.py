"""Deploys engines through Ray Serve: one application a trial, its replica in a placement group, the engine below it."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from adapters.protocol import Violation
from orchestrator.cluster import names, serve_control
from orchestrator.cluster.llm_deployment import LlmDeployment, deploy_llm
from orchestrator.cluster.orders import RENEW_EVERY_S, Started, StartOrder, Trouble
from orchestrator.cluster.placement import find_misfit, pin
from orchestrator.cluster.prestart import prestart_workers
from orchestrator.cluster.serve_app import engine_app
from orchestrator.deploy.leftovers import await_end
from orchestrator.deploy.supervisor import Process, identify
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.deployment import DeployRequest, StartTimes, StopReport
from orchestrator.domain.endpoint import Endpoint, Via
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import PlacementPlan
from orchestrator.trials import example_plan

PLACE_TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.5
ROUTE_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 30.0
DELETE_TIMEOUT_S = 15.0
START_SLACK_S = 5.0  # the replica's own deadline comes first; this one is for a replica that hangs
_GONE = (RayError, TimeoutError, RuntimeError)


@dataclass(slots=True)
class RayDeployment:
    """An engine in a Serve replica. A replica that Serve put in its place is not it."""

    endpoint: Endpoint
    metrics_url: str | None
    root_pid: int
    is_same_host: bool
    log_path: Path
    times: StartTimes
    argv: tuple[str, ...]
    resolved: Mapping[str, str]
    app: str
    handle: Any
    replica: Process
    clock: Clock
    stop_renewing: Callable[[], None]
    report: StopReport | None = None

    def check_alive(self) -> None:
        """Return when the very engine that was started still runs under its very replica.

        Raises:
            DeploymentError: it ended, its replica did, or another replica stands in its place.
        """
        if self.report is not None:
            raise DeploymentError(f"{self.app}: the engine was stopped")
        try:
            sighting = self.handle.look.remote().result(timeout_s=ANSWER_TIMEOUT_S)
        except _GONE as error:
            raise DeploymentError(f"{self.app}: its Serve replica does not answer: {error}") from error
        if sighting.replica_pid != self.replica.pid:
            raise DeploymentError(
                f"{self.app}: Serve restarted the replica (process {self.replica.pid}, now {sighting.replica_pid}); "
                "the engine that was measured is gone"
            )
        if sighting.trouble is not None:
            raise sighting.trouble.error()

    def stop(self) -> StopReport:
        """Stop the engine, delete the application, and verify that its processes, ports and memory are back."""
        if self.report is None:
            self.report = self._stop()
        return self.report

    def _stop(self) -> StopReport:
        began_ns = self.clock.now_ns()
        self.stop_renewing()
        prestart_workers(1)  # for the trial after the next; nothing is measured while an engine stops
        try:
            engine = self.handle.stop.remote().result(timeout_s=STOP_TIMEOUT_S)
        except _GONE:
            engine = None  # the replica is gone, so its supervisor takes the engine down; verified below
        is_deleted = serve_control.delete_app(self.app, DELETE_TIMEOUT_S)
        mine = [self.replica] if engine is not None else [self.replica, *self._root()]
        left = (
            [f"process {one.pid} still runs" for one in await_end(mine, DELETE_TIMEOUT_S)] if self.is_same_host else []
        )
        undeleted = [] if is_deleted else [f"Serve application {self.app} is still there"]
        return StopReport(
            stop_s=(self.clock.now_ns() - began_ns) / NS_PER_S,
            processes_gone=not left and (engine is None or engine.processes_gone),
            ports_free=engine is not None and engine.ports_free,
            memory_returned=None if engine is None else engine.memory_returned,
            leftovers=(*(engine.leftovers if engine is not None else ()), *left, *undeleted),
        )

    def _root(self) -> list[Process]:
        found = identify(self.root_pid)
        return [] if found is None else [found]


@dataclass(frozen=True, slots=True)
class RayDeployer:
    """Starts engines through Serve, for requests that come from this node: loopback reaches no other one.

    `runtime_env` is the Ray job's: what makes our own code importable on other nodes.
    """

    clock: Clock
    runtime_env: Mapping[str, Any] = field(default_factory=dict)
    place_timeout_s: float = PLACE_TIMEOUT_S

    def deploy(self, request: DeployRequest) -> RayDeployment | LlmDeployment:
        """Start an engine in a placement group of its own and return once a real generated token proved it alive.

        Raises:
            DeploymentError: it can never be placed, was not placed in time, or did not start; nothing of it is left.
        """
        plan, misfit = place(request.placement, request.via)
        if misfit is not None:
            raise DeploymentError(f"cannot ever be placed: asks for {misfit.seen}; {misfit.allowed}")
        launch = example_plan(request.adapter, request.config, request.model)
        if launch.executor == "ray":
            runtime_env = {**self.runtime_env, **request.runtime_env}
            return deploy_llm(request, launch, plan, runtime_env=runtime_env, clock=self.clock)
        return self._deploy_replica(request, plan)

    def _deploy_replica(self, request: DeployRequest, plan: PlacementPlan) -> RayDeployment:
        app = names.app_name(request.trial_id, ray.get_runtime_context().get_job_id())
        route = f"/{app}" if request.via == "serve" else None
        asked_ns = self.clock.now_ns()
        try:
            handle = serve_control.run_app(
                engine_app(plan, {**self.runtime_env, **request.runtime_env}), name=app, route_prefix=route
            )
            started = self._await_start(app, handle, StartOrder.of(request), plan=plan)
            place_s = (self.clock.now_ns() - asked_ns) / NS_PER_S - started.times.token_s
            return self._deployment(app, handle, started, via=request.via, place_s=place_s)
        except BaseException:
            # A failed or interrupted start leaves nothing, and Serve gets no chance to try it again.
            with contextlib.suppress(*_GONE):
                serve_control.delete_app(app, DELETE_TIMEOUT_S)
            raise

    def _await_start(self, app: str, handle: Any, order: StartOrder, *, plan: PlacementPlan) -> Started:  # noqa: ANN401
        response = handle.start.remote(order)
        place_by = time.monotonic() + self.place_timeout_s
        give_up_at = place_by + order.ready_timeout_s + START_SLACK_S
        while True:
            with contextlib.suppress(TimeoutError):
                return _started(response.result(timeout_s=LOOK_EVERY_S))
            state = serve_control.app_states().get(app)
            if state is None or state.status in {"DEPLOY_FAILED", "UNHEALTHY"}:
                raise DeploymentError(f"{app}: Serve gave the replica up: {state.message if state else 'deleted'}")
            if state.status == "DEPLOYING" and time.monotonic() >= place_by:
                raise _unplaced(app, plan, self.place_timeout_s)
            if time.monotonic() >= give_up_at:
                raise DeploymentError(f"{app}: the replica did not say within its deadline how the start ended")

    def _deployment(self, app: str, handle: Any, started: Started, *, via: Via, place_s: float) -> RayDeployment:  # noqa: ANN401
        base_url = started.base_url if via == "engine" else _serve_url(app)
        is_same_host = started.node_id == ray.get_runtime_context().get_node_id()
        replica = identify(started.replica_pid) if is_same_host else None
        times = started.times
        return RayDeployment(
            endpoint=Endpoint(base_url, started.served_model, via=via),
            metrics_url=started.metrics_url if is_same_host else None,
            root_pid=started.root_pid,
            is_same_host=is_same_host,
            log_path=started.log_path,
            times=StartTimes(place_s, times.listen_s, times.health_s, times.token_s),
            argv=started.argv,
            resolved=started.resolved,
            app=app,
            handle=handle,
            replica=replica or Process(started.replica_pid, 0),
            clock=self.clock,
            stop_renewing=_keep_renewing(handle),
        )


def place(plan: PlacementPlan, via: Via) -> tuple[PlacementPlan, Violation | None]:
    """Return the plan with its HTTP server where requests reach it, and why the cluster could never carry it."""
    bound = plan if via == "serve" else pin(plan, names.node_resource(serve_control.here()["Resources"]))
    return bound, find_misfit(bound, [node["Resources"] for node in serve_control.nodes()])


def _serve_url(app: str) -> str:
    base_url = serve_control.http_base_url()
    if base_url is None:
        raise DeploymentError("via: serve needs Serve's HTTP proxy, and this cluster's Serve was started without one")
    if not serve_control.await_route(base_url, f"/{app}", ROUTE_TIMEOUT_S):
        raise DeploymentError(f"Serve's proxy at {base_url} did not learn the route /{app} in {ROUTE_TIMEOUT_S:g} s")
    return f"{base_url}/{app}"


def _started(reply: Started | Trouble) -> Started:
    if isinstance(reply, Trouble):
        raise reply.error()
    return reply


def _unplaced(app: str, plan: PlacementPlan, timeout_s: float) -> DeploymentError:
    free = {name: amount for name, amount in serve_control.free_resources().items() if name in plan.bundles[0]}
    wanted = [dict(bundle) for bundle in plan.bundles]
    return DeploymentError(
        f"{app}: not placed within {timeout_s:g} s: asks for {wanted} {plan.strategy}, free now: {free}; "
        "somebody else uses the cluster, wait or ask for less"
    )


def _keep_renewing(handle: Any) -> Callable[[], None]:  # noqa: ANN401 - Serve's handles are generic
    """Renew the application's lease from a thread until the returned function is called."""
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(RENEW_EVERY_S):
            with contextlib.suppress(*_GONE):
                handle.renew.remote().result(timeout_s=RENEW_EVERY_S)

    threading.Thread(target=renew, name="lease", daemon=True).start()
    return is_over.set
