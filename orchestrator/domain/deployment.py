"""What it takes to deploy an engine, and what a deployed one offers. Local and Ray deployers both speak this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from adapters.protocol import EngineAdapter, EngineConfig, ModelRef
from orchestrator.domain.endpoint import Endpoint, Via
from orchestrator.domain.placement import PlacementPlan


@dataclass(frozen=True, slots=True)
class DeployRequest:
    """Which engine to start, how, and where its log goes.

    `cpus` pins the engine's whole process tree to those cores (None: all). `trial_id` names the application.
    `interpreter` None is the one that runs the deployer; `runtime_env` adds to Ray's environment of the replica.
    """

    trial_id: str
    adapter: EngineAdapter
    config: EngineConfig
    model: ModelRef
    placement: PlacementPlan
    folder: Path
    interpreter: Path | None
    via: Via = "engine"
    cpus: tuple[int, ...] | None = None
    ready_timeout_s: float = 120.0
    runtime_env: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartTimes:
    """How long a start took: to a listening port, a well health check, a real token at a settled latency.

    All in seconds from the start of the engine's process; `place_s` is what the cluster needed before that.
    """

    place_s: float
    listen_s: float
    health_s: float
    token_s: float


@dataclass(frozen=True, slots=True)
class StopReport:
    """What was verified after a stop; `leftovers` is empty when all is back."""

    stop_s: float
    processes_gone: bool
    ports_free: bool
    memory_returned: bool | None
    leftovers: tuple[str, ...] = ()


class Deployment(Protocol):
    """A running engine that we started; `resolved` is its configuration as it tells it, as far as it does."""

    endpoint: Endpoint
    metrics_url: str | None
    root_pid: int
    is_same_host: bool
    log_path: Path
    times: StartTimes
    argv: tuple[str, ...]
    resolved: Mapping[str, str]

    def check_alive(self) -> None:
        """Return when the very engine that was started still runs.

        Raises:
            DeploymentError: it ended, or another process stands in its place; with its last log lines.
        """
        ...

    def stop(self) -> StopReport:
        """Stop the engine and verify that its processes, ports and memory are back. Idempotent."""
        ...


class Deployer(Protocol):
    """Starts engines."""

    def deploy(self, request: DeployRequest) -> Deployment:
        """Start an engine and return once a real generated token proved it alive.

        Raises:
            DeploymentError: it did not start within its deadline; nothing of it is left.
        """
        ...


Environ = Mapping[str, str]
