"""The nouns between the hub and an engine adapter.

An adapter says how an engine is configured, started and read. It runs nothing and imports no engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

Format = Literal["gguf", "hf", "none"]
LengthControl = Literal["ignore_eos", "min_tokens", "generation_config"]


class EngineConfig(BaseModel):
    """An engine's settings: field names are the engine's own flags, only `tp` and `pp` are ours."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tp: int = Field(default=1, ge=1, description="tensor-parallel size, devices")
    pp: int = Field(default=1, ge=1, description="pipeline-parallel size, stages")

    def conditions(self, model: "ModelRef") -> dict[str, str]:
        """Say what the settings decide of a fair comparison, as far as an adapter knows it.

        Keys: `compute_precision` and `kv_precision` in the words of `PRECISIONS`, `context_tokens` of one request.
        """
        del model
        return {}


PRECISIONS = {"bfloat16": "bf16", "float16": "f16", "half": "f16", "float32": "f32", "float": "f32"}


class StartFailure(StrEnum):
    """Why an engine did not start or did not stay up."""

    OUT_OF_MEMORY = "out_of_memory"
    BAD_FLAG = "bad_flag"
    BAD_MODEL = "bad_model"
    PORT_TAKEN = "port_taken"
    LOST_DEVICE = "lost_device"
    MISSING_PACKAGE = "missing_package"
    UNKNOWN = "unknown"


class ModelRef(BaseModel):
    """One set of weights on disk, in one format and one precision."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    variant: str
    format: Format
    path: Path
    tokenizer_path: Path | None = Field(description="a Hugging Face tokenizer.json, None where there is none")
    weights_precision: str
    weights_sha256: str
    source: str = Field(description="where the weights come from and how they were converted")
    checkpoint_digest: str | None = Field(
        default=None,
        description="sha256 over the canonical tensors (Hugging Face names and layout, BF16 values) of the unquantised "
        "checkpoint that these weights are, or derive from; None where it is not known",
    )
    is_derived: bool = Field(
        default=False, description="the stored values are not that checkpoint's own: quantised, or rounded"
    )
    context_tokens: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    hidden_size: int
    vocab_size: int


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a deployment may count on. `cpu_flags` are the processor's features as Linux names them, None if unknown."""

    cpu_count: int
    memory_bytes: int
    gpu_names: tuple[str, ...] = ()
    gpu_memory_bytes: tuple[int, ...] = ()
    cpu_flags: frozenset[str] | None = None

    @property
    def has_cuda(self) -> bool:
        """Say whether there is a GPU at all."""
        return bool(self.gpu_names)


class Violation(NamedTuple):
    """One reason why a configuration cannot be deployed."""

    key: str
    seen: object
    allowed: str


class ServerMetric(NamedTuple):
    """What one series of an engine's `/metrics` means in our words.

    `name` is canonical (docs/METRICS.md), `scale` multiplies the engine's value into `unit`. `adds_to` lists further
    canonical names of the same unit and kind that are sums over series, where an engine counts the parts apart.
    """

    name: str
    unit: str
    kind: Literal["gauge", "counter", "histogram"]
    scale: float = 1.0
    adds_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine's server can do; the client adapts to it and the record states it.

    `formats` are the formats of weights that it reads, the one it prefers first. `output_length_control` is the field
    of a request's body by which an answer is kept from ending before `max_tokens`. `lora` says that LoRA adapters are
    served beside the base model, each asked by its own name as the request's model.
    """

    streams: bool = True
    accepts_token_prompts: bool = True
    output_length_control: LengthControl | None = None
    usage_in_stream: bool = True
    cache_reset_path: str | None = None
    keeps_alive: bool = True
    sends_done: bool = True
    is_simulated: bool = False
    formats: tuple[Format, ...] = ("hf",)
    routes: tuple[Literal["completions", "chat"], ...] = ("completions", "chat")
    lora: bool = False


@dataclass(frozen=True, slots=True)
class Build:
    """One installable form of an engine: its distribution, the version that we pin, what must come along.

    `lock` names the file of `adapters/environments/` in which every package is pinned, None where there is none.
    `leave_out` are distributions that the engine asks for and that must not be installed.
    """

    distribution: str
    version: str
    needs: Literal["cpu", "cuda"]
    requirements: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    lock: str | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """Where an engine runs: its builds, the one for the plainest hardware first; none where it is part of ours.

    `module` is what the engine's interpreter must be able to import. `verified` lists the versions whose flags and
    metrics were compared with what we know of them; others run, marked unverified. `is_tried` is False for an engine
    that nobody has run with this adapter.
    """

    builds: tuple[Build, ...]
    module: str | None
    hardware: str
    licence: str
    verified: tuple[str, ...] = ()
    is_tried: bool = True


class Readback(NamedTuple):
    """Where a running engine tells its configuration as it resolved it: a path that answers JSON.

    `root` is the key under which it stands there; `fields` maps a setting to its dotted place below.
    """

    path: str
    root: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How to start one engine: everything a supervisor needs, nothing it must guess.

    `argv[0]` is a program, or the word `python`, for which the deployer puts the engine's interpreter. `ports`
    names every port that the engine opens. `executor` says how ranks start: `process` is one process tree on one
    node, `ranks` is one process a bundle, `ray` is a Ray-native engine, for which `serve_llm` holds the arguments of
    Serve's own `LLMConfig` instead of an argv. `served_model` is the name requests must carry.
    """

    argv: tuple[str, ...]
    ports: Mapping[str, int]
    served_model: str
    env: Mapping[str, str] = field(default_factory=dict)
    health_path: str = "/health"
    metrics_path: str | None = "/metrics"
    dialect: Literal["openai"] = "openai"
    executor: Literal["process", "ranks", "ray"] = "process"
    serve_llm: Mapping[str, Any] | None = None
    readback: Readback | None = None


class EngineAdapter(Protocol):
    """How one serving engine is configured, started and read. Runs nothing, imports no engine."""

    name: ClassVar[str]
    config_type: ClassVar[type[EngineConfig]]
    capabilities: ClassVar[Capabilities]
    environment: ClassVar[Environment]

    def check(self, config: Any, model: ModelRef, hardware: Hardware) -> list[Violation]:  # noqa: ANN401
        """List what makes the configuration impossible, before anything is deployed."""
        ...

    def launch_plan(self, config: Any, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:  # noqa: ANN401
        """Say how to start the engine on the given ports (always one called `http`)."""
        ...

    def port_names(self) -> tuple[str, ...]:
        """Name every port that the engine opens; the first is `http`."""
        ...

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map the engine's series to canonical names and units."""
        ...

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why the engine ended, from the end of its log. Total: never raises."""
        ...
