"""A study as a person writes it: one YAML file, one frozen value."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from orchestrator.domain.address import objection_to
from orchestrator.domain.cache import CachePolicy
from orchestrator.domain.endpoint import Via
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.slo import Slo
from orchestrator.domain.window import WindowSpec as WindowSpec  # noqa: PLC0414 - part of a study, and known as such
from workloads.digest import digest
from workloads.workload import Workload


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelChoice(_Frozen):
    """Which weights, in which variant; `path` or `uri` names a folder or GGUF instead of a known name.

    `path` is local to each node; `uri` is an address such as s3://bucket/models/x, never with credentials in it.
    """

    name: str
    variant: str = "bf16"
    path: Path | None = None
    uri: str | None = None

    @field_validator("uri", mode="before")
    @classmethod
    def _carries_no_credentials(cls, uri: object) -> object:
        objection = objection_to(uri) if isinstance(uri, str) else None
        if objection is None:
            return uri
        reason = PydanticCustomError("address", "{objection}", {"objection": objection})
        # The address may hold a password, and what a message says it has seen is this input.
        raise ValidationError.from_exception_data("model", [{"type": reason, "input": "an address"}])

    @model_validator(mode="after")
    def _is_in_one_place(self) -> "ModelChoice":
        if self.path is not None and self.uri is not None:
            raise ValueError("give either path or uri, not both")
        return self

    @model_serializer(mode="wrap")
    def _without_absent_uri(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave an absent `uri` out, so that studies without one keep the digest they had before there were any."""
        values: dict[str, Any] = write(self)
        return {key: value for key, value in values.items() if key != "uri" or value is not None}


class EnvironmentChoice(_Frozen):
    """An engine's environment that Seatrial did not make: a folder or interpreter, an image, or one of Ray's."""

    path: Path | None = None
    image: str | None = None
    runtime_env: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "EnvironmentChoice":
        if sum(one is not None for one in (self.path, self.image, self.runtime_env)) != 1:
            raise ValueError("give exactly one of path, image and runtime_env")
        return self


class EngineChoice(_Frozen):
    """One candidate: an engine, its version, flags that are fixed, and what may vary instead of its whole space.

    `label` tells two candidates of one engine apart. `model` replaces the study's weights for this candidate only; left
    out, the study's are taken in the format that the engine reads. `version` None is the one that Seatrial pins.
    `search` maps a flag to a list of values; an empty mapping searches nothing. None takes the catalogue.
    """

    name: str
    label: str | None = Field(default=None, min_length=1, max_length=60)
    version: str | None = None
    environment: EnvironmentChoice | None = None
    model: ModelChoice | None = None
    config: dict[str, Any] = Field(default_factory=dict)
    search: dict[str, list[Any]] | None = None

    @property
    def candidate(self) -> str:
        """Name the candidate: its label, else the engine with the version that was asked for."""
        return self.label or (f"{self.name} {self.version}" if self.version is not None else self.name)


class Walk(_Frozen):
    """The offered loads that each trial walks, in order: rates in an open loop, or users in a closed one."""

    rates_rps: tuple[Annotated[float, Field(gt=0)], ...] = ()
    users: tuple[Annotated[int, Field(gt=0)], ...] = ()

    @model_validator(mode="after")
    def _names_one_kind(self) -> "Walk":
        if bool(self.rates_rps) == bool(self.users):
            raise ValueError("give either rates_rps or users, not both and not neither")
        return self

    @property
    def loads(self) -> tuple[OfferedLoad, ...]:
        """Return the loads in the order in which they are offered."""
        return tuple(OpenLoad(rate_rps=rate) for rate in self.rates_rps) or tuple(
            ClosedLoad(users=users) for users in self.users
        )


class SearchSpec(_Frozen):
    """How the next configuration is chosen and what is maximised."""

    sampler: Literal["tpe", "random"] = "tpe"
    objective: Literal["goodput_rps", "output_tokens_per_s", "requests_per_s"] = "goodput_rps"
    prune: bool = Field(default=True, description="stop a trial at a load where it is clearly behind")
    prune_after: int = Field(default=4, ge=1, description="trials measured at a load before one is stopped there")


class Budget(_Frozen):
    """What a study may spend."""

    trials: int = Field(default=8, ge=1)
    minutes: float | None = Field(default=None, gt=0, description="no trial starts after this")
    max_devices: int = Field(default=1, ge=1)
    max_retries: int = Field(default=1, ge=0, description="of a Failed trial; an Infeasible one is never retried")


LATER_FIELDS = {"client_workers": None, "load_nodes": None, "client_stays_awake": False}


class DeploySpec(_Frozen):
    """How and where engines run."""

    deployer: Literal["ray", "local"] = "ray"
    via: Via = "engine"
    device: str = Field(default="CPU", description="the Ray resource that one device is: CPU, GPU or a custom one")
    engine_cpus: tuple[int, ...] | None = Field(default=None, description="cores for the engine; None: all")
    client_cpus: tuple[int, ...] | None = Field(default=None, description="cores for the client; None: all")
    client_workers: int | None = Field(
        default=None, ge=1, description="processes that send; None: one a core that client_cpus names, else one"
    )
    load_nodes: int | None = Field(
        default=None,
        ge=1,
        description="nodes of the Ray cluster that send, in turn; None: only the trial's own",
    )
    client_stays_awake: bool = Field(
        default=False,
        description="whether the client burns its cores (client_cpus, with nothing else on them) to be exact",
    )
    ready_timeout_s: float = Field(default=120.0, gt=0)

    @property
    def num_client_workers(self) -> int:
        """Return how many processes send."""
        return self.client_workers or self.load_nodes or len(self.client_cpus or (None,))

    @model_validator(mode="after")
    def _awake_on_cores_of_its_own(self) -> "DeploySpec":
        shared = set(self.client_cpus or ()) & set(self.engine_cpus or self.client_cpus or ())
        if self.client_stays_awake and (not self.client_cpus or shared):
            raise ValueError("client_stays_awake needs client_cpus and engine_cpus, and none in both")
        return self

    @model_validator(mode="after")
    def _nodes_are_rays(self) -> "DeploySpec":
        if self.load_nodes is not None and self.deployer != "ray":
            raise ValueError("load_nodes are nodes of a Ray cluster; use deployer: ray or client_workers")
        return self

    @model_serializer(mode="wrap")
    def _without_absent_workers(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is as it was before it could be said, so that older studies keep their digest."""
        values: dict[str, Any] = write(self)
        return {key: value for key, value in values.items() if key not in LATER_FIELDS or value != LATER_FIELDS[key]}


class StudySpec(_Frozen):
    """One study: what is asked, of which engine, on which traffic, within which budget."""

    kind: Literal["sweep"] = "sweep"
    name: str = Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    model: ModelChoice
    engines: tuple[EngineChoice, ...] = Field(min_length=1)
    workload: Workload = Field(default_factory=Workload)
    load: Walk
    window: WindowSpec = Field(default_factory=WindowSpec)
    slo: Slo | None = None
    search: SearchSpec = Field(default_factory=SearchSpec)
    budget: Budget = Field(default_factory=Budget)
    deploy: DeploySpec = Field(default_factory=DeploySpec)
    cache: CachePolicy = "salted"
    fairness: Literal["report", "strict"] = Field(
        default="report", description="whether candidates under unequal conditions are reported as such, or refused"
    )
    telemetry_hz: float = Field(default=5.0, ge=1, le=50)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _objective_has_what_it_needs(self) -> "StudySpec":
        if self.search.objective == "goodput_rps" and self.slo is None:
            raise ValueError("search.objective goodput_rps needs an slo; state one or choose output_tokens_per_s")
        return self

    @model_validator(mode="after")
    def _candidates_differ_in_name(self) -> "StudySpec":
        names = [one.candidate for one in self.engines]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"engines: {', '.join(twice)} is there twice; tell candidates apart by label")
        return self

    @property
    def digest(self) -> str:
        """Digest everything that may change a measurement; the budget may grow without changing it."""
        return digest(self.model_dump(mode="json", exclude={"budget"}))
