"""What goes to a Serve replica to start an engine, and what comes back. Values only, safe to pickle."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from adapters import registry
from adapters.protocol import ModelRef, StartFailure
from orchestrator.domain.deployment import DeployRequest, StartTimes
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import PlacementPlan

LEASE_S = 20.0  # a replica that hears nothing for as long belongs to nobody
RENEW_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class StartOrder:
    """A deploy request whose adapter goes by name and whose configuration by its set flags: plug-ins do not pickle."""

    trial_id: str
    engine: str
    config: Mapping[str, Any]
    model: ModelRef
    placement: PlacementPlan
    folder: Path
    interpreter: Path | None
    cpus: tuple[int, ...] | None
    ready_timeout_s: float

    @classmethod
    def of(cls, request: DeployRequest) -> Self:
        """Spell a request as an order."""
        return cls(
            trial_id=request.trial_id,
            engine=request.adapter.name,
            config=request.config.model_dump(exclude_unset=True),
            model=request.model,
            placement=request.placement,
            folder=request.folder.absolute(),
            interpreter=None if request.interpreter is None else _findable(request.interpreter),
            cpus=request.cpus,
            ready_timeout_s=request.ready_timeout_s,
        )

    def request(self) -> DeployRequest:
        """Return the request for a local deployer; the replica speaks to its engine straight."""
        adapter = registry.get(self.engine)
        return DeployRequest(
            trial_id=self.trial_id,
            adapter=adapter,
            config=adapter.config_type.model_validate(dict(self.config)),
            model=self.model,
            placement=self.placement,
            folder=self.folder,
            interpreter=self.interpreter,
            cpus=self.cpus,
            ready_timeout_s=self.ready_timeout_s,
        )


def _findable(program: Path) -> Path:
    """Return a path that means the same in any folder; a bare name is looked up on PATH as it is."""
    return program if len(program.parts) == 1 else program.absolute()


@dataclass(frozen=True, slots=True)
class Started:
    """The engine runs under the replica; `niceness` is what both run at."""

    base_url: str
    served_model: str
    metrics_url: str | None
    root_pid: int
    replica_pid: int
    node_id: str
    log_path: Path
    times: StartTimes
    argv: tuple[str, ...]
    resolved: Mapping[str, str]
    niceness: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """A DeploymentError that crosses processes as a value: Ray wraps what is raised and loses its fields."""

    message: str
    kind: StartFailure = StartFailure.UNKNOWN
    log_tail: str = ""

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Spell an error as a value."""
        if isinstance(error, DeploymentError):
            return cls(error.message, error.kind, error.log_tail)
        return cls(f"{type(error).__name__}: {error}")

    def error(self) -> DeploymentError:
        """Return the error again."""
        return DeploymentError(self.message, kind=self.kind, log_tail=self.log_tail)


@dataclass(frozen=True, slots=True)
class Sighting:
    """Which replica answered, and what is wrong with its engine; None: nothing."""

    replica_pid: int
    trouble: Trouble | None
