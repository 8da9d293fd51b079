"""How SGLang is configured, started and read, on CUDA. Runs nothing and imports no engine."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from adapters.protocol import (
    Build,
    Capabilities,
    EngineConfig,
    Environment,
    Hardware,
    LaunchPlan,
    ModelRef,
    ServerMetric,
    StartFailure,
    Violation,
)
from adapters.sglang.config import SglangConfig
from adapters.sglang.constraints import violations
from adapters.sglang.failures import classify
from adapters.sglang.metrics import METRICS

MODULE = "sglang.launch_server"
LOOPBACK = "127.0.0.1"
VERSION = "0.5.23"
ENVIRON = {"HF_HUB_OFFLINE": "1"}


class SglangAdapter:
    """SGLang's OpenAI server in a process tree of its own, one model, on loopback."""

    name: ClassVar[str] = "sglang"
    config_type: ClassVar[type[EngineConfig]] = SglangConfig
    capabilities: ClassVar[Capabilities] = Capabilities(
        output_length_control="ignore_eos", cache_reset_path="/flush_cache", formats=("hf",)
    )
    environment: ClassVar[Environment] = Environment(
        builds=(Build("sglang", VERSION, needs="cuda"),),
        module="sglang",
        hardware="CUDA GPUs, tp x pp of them; this adapter was never run",
        licence="Apache-2.0",
        verified=(VERSION,),
        is_tried=False,
    )

    def check(self, config: SglangConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
        """List what SGLang would refuse, quietly change, or could not hold; without a GPU, only that."""
        return list(violations(config, model, hardware))

    def launch_plan(self, config: SglangConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Start its server; its ranks meet on the port called `nccl`."""
        return LaunchPlan(
            argv=("python", "-m", MODULE, *_server_flags(model, ports), *_flags(config)),
            ports=dict(ports),
            served_model=model.name,
            env=dict(ENVIRON),
        )

    def port_names(self) -> tuple[str, ...]:
        """Name its HTTP port and the one on which its ranks meet; its other channels are files."""
        return ("http", "nccl")

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map its series, which it serves only with `--enable-metrics`."""
        return METRICS

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why it ended, from the end of its log."""
        return classify(log_tail)


def _server_flags(model: ModelRef, ports: Mapping[str, int]) -> Iterator[str]:
    yield from (f"--model-path={model.path}", f"--served-model-name={model.name}", f"--host={LOOPBACK}")
    yield from (f"--port={ports['http']}", f"--nccl-port={ports['nccl']}", "--enable-metrics")
    yield "--enable-cache-report"  # cached tokens of each request, in its usage


def _flags(config: SglangConfig) -> Iterator[str]:
    for name, value in config.changed():
        flag = "--" + name.replace("_", "-")
        yield flag if value is True else f"{flag}={value}"
