"""Deploys an engine on this machine without a cluster: one supervised process tree on loopback."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import adapters
from adapters.openai import Dialect
from adapters.protocol import Capabilities, LaunchPlan, StartFailure
from orchestrator.deploy import memory
from orchestrator.deploy.deployment import LocalDeployment, describe_status, take_down
from orchestrator.deploy.lease import DEFAULT_GRACE_S, STATE_NAME, Command, Lease
from orchestrator.deploy.log import read_tail
from orchestrator.deploy.ports import LOOPBACK, free_ports, is_bindable, listens_on
from orchestrator.deploy.readback import read_back
from orchestrator.deploy.readiness import NotReadyError, Probe, await_ready
from orchestrator.domain.clock import NS_PER_S, Clock, SystemClock
from orchestrator.domain.deployment import DeployRequest, StartTimes
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import DeploymentError

MAX_PORT_ATTEMPTS = 3
LOG_NAME = "engine.log"
IMPORTS_NAME = "imports"
NOT_PASSED_ON = frozenset({"OMP_NUM_THREADS"})  # Ray sets it for its own workers; an engine counts its own cores


class LocalDeployer:
    """Starts engines as children of this process; they end with it, however it ends."""

    def __init__(self, clock: Clock, *, grace_s: float = DEFAULT_GRACE_S) -> None:
        self._clock = clock
        self._grace_s = grace_s

    def deploy(self, request: DeployRequest) -> LocalDeployment:
        """Start an engine and return once a real generated token proved it alive.

        A lost race for a port is repeated on other ports. `request.ready_timeout_s` holds for all tries together.

        Raises:
            DeploymentError: it did not start within its deadline; nothing of it is left.
        """
        asked_ns = self._clock.now_ns()
        for attempt in range(1, MAX_PORT_ATTEMPTS + 1):
            try:
                return _Start.prepare(request, self._clock, asked_ns=asked_ns).run(self._grace_s)
            except DeploymentError as error:
                if error.kind is not StartFailure.PORT_TAKEN or attempt == MAX_PORT_ATTEMPTS:
                    raise
        raise AssertionError  # pragma: no cover - the loop returns or raises


@dataclass(frozen=True, slots=True)
class _Start:
    """One try to start an engine on one set of ports."""

    request: DeployRequest
    clock: Clock
    asked_ns: int
    plan: LaunchPlan
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log_path: Path
    available_bytes: int

    @classmethod
    def prepare(cls, request: DeployRequest, clock: Clock, *, asked_ns: int) -> Self:
        ports = free_ports(request.adapter.port_names())
        plan = request.adapter.launch_plan(request.config, request.model, ports=ports)
        _check_plan(request, plan)
        request.folder.mkdir(parents=True, exist_ok=True)
        program, *rest = plan.argv
        argv = (str(request.interpreter or sys.executable) if program == "python" else program, *rest)
        env = _environ(request.folder, plan)
        log_path = request.folder / LOG_NAME
        return cls(request, clock, asked_ns, plan, argv, env, log_path, memory.available_bytes())

    def run(self, grace_s: float) -> LocalDeployment:
        folder = self.request.folder
        command = Command(self.argv, self.env, folder, self.log_path, self.request.cpus, grace_s)
        lease = Lease.take(command, self.clock)
        try:
            return self._prove(lease, grace_s)
        except (NotReadyError, DeploymentError) as error:
            tail = self._take_down(lease, grace_s)
            raise self._failure(str(error), tail) from error
        except BaseException:
            # An interrupted start leaves nothing either.
            self._take_down(lease, grace_s)
            raise

    def _prove(self, lease: Lease, grace_s: float) -> LocalDeployment:
        endpoint = Endpoint(f"http://{LOOPBACK}:{self.plan.ports['http']}", self.plan.served_model)
        ready = await_ready(self._probe(lease, endpoint), self.clock)
        place_s = (lease.began_ns - self.asked_ns) / NS_PER_S
        return LocalDeployment(
            endpoint=endpoint,
            metrics_url=endpoint.base_url + self.plan.metrics_path if self.plan.metrics_path else None,
            root_pid=lease.root.pid,
            is_same_host=True,
            log_path=self.log_path,
            times=StartTimes(place_s, *ready),
            argv=self.argv,
            lease=lease,
            clock=self.clock,
            adapter=self.request.adapter,
            env=self.env,
            ports=self.plan.ports,
            grace_s=grace_s,
            available_before_bytes=self.available_bytes,
            resolved=read_back(self.plan.readback, endpoint),
        )

    def _probe(self, lease: Lease, endpoint: Endpoint) -> Probe:
        def watch() -> None:
            lease.listen()
            if lease.exit_status is not None or lease.is_over:
                raise NotReadyError(f"the engine ended before it was ready, {describe_status(lease.exit_status)}")

        return Probe(
            endpoint=endpoint,
            health_path=self.plan.health_path,
            began_ns=lease.began_ns,
            deadline_ns=self.asked_ns + round(self.request.ready_timeout_s * NS_PER_S),
            watch=watch,
            is_owner=lambda: listens_on(lease.tree(), self.plan.ports["http"]) is not False,
            dialect=_dialect(self.request.adapter.capabilities),
        )

    def _take_down(self, lease: Lease, grace_s: float) -> str:
        take_down(lease, self.request.folder / STATE_NAME, grace_s)
        return read_tail(self.log_path, self.env)

    def _failure(self, reason: str, tail: str) -> DeploymentError:
        kind = self.request.adapter.classify_failure(tail)
        if kind is StartFailure.UNKNOWN and not all(is_bindable(port) for port in self.plan.ports.values()):
            kind = StartFailure.PORT_TAKEN
        return DeploymentError(f"{self.request.adapter.name}: {reason}", kind=kind, log_tail=tail)


def _dialect(capabilities: Capabilities) -> Dialect:
    return Dialect("completions" if "completions" in capabilities.routes else "chat", capabilities)


def _check_plan(request: DeployRequest, plan: LaunchPlan) -> None:
    if plan.executor != "process":
        raise DeploymentError(
            f"{request.adapter.name}: a local deployment starts one process tree, seen executor {plan.executor!r}; "
            "run this configuration on a Ray cluster"
        )
    if request.via != "engine":
        raise DeploymentError(f"a local deployment is spoken to straight, seen via {request.via!r}; use via: engine")


def _environ(folder: Path, plan: LaunchPlan) -> dict[str, str]:
    """Build the engine's environment: ours, the plan's on top, and our adapters importable but nothing else of ours."""
    imports = folder / IMPORTS_NAME
    imports.mkdir(exist_ok=True)
    link = imports / "adapters"
    link.unlink(missing_ok=True)
    link.symlink_to(Path(adapters.__path__[0]).resolve(), target_is_directory=True)
    ours = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    merged = {**ours, "PYTHONUNBUFFERED": "1", **plan.env}
    paths = [str(imports.resolve()), *filter(None, [merged.get("PYTHONPATH")])]
    return {**merged, "PYTHONPATH": os.pathsep.join(paths)}


def make_local_deployer() -> LocalDeployer:
    """Make a deployer on the machine's own clock."""
    return LocalDeployer(SystemClock())
