"""How TensorRT-LLM is configured, started and read, on CUDA. Runs nothing and imports no engine."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
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
from adapters.trtllm.config import FLAGS, TrtllmConfig
from adapters.trtllm.constraints import violations
from adapters.trtllm.failures import classify
from adapters.trtllm.metrics import METRICS
from adapters.trtllm.options import options

PROGRAM = Path(__file__).with_name("serve.py")
LOOPBACK = "127.0.0.1"
ENVIRON = {"HF_HUB_OFFLINE": "1"}


class TrtllmAdapter:
    """`trtllm-serve` in a process tree of its own, one model, on loopback.

    The server takes any model name in a request; it calls itself by the checkpoint folder's.
    """

    name: ClassVar[str] = "trtllm"
    config_type: ClassVar[type[EngineConfig]] = TrtllmConfig
    capabilities: ClassVar[Capabilities] = Capabilities(output_length_control="ignore_eos", formats=("hf",))
    environment: ClassVar[Environment] = Environment(
        builds=(Build("tensorrt-llm", "1.2.1", needs="cuda"),),
        module="tensorrt_llm",
        hardware="CUDA GPUs, tp x pp of them; this adapter was never run",
        licence="Apache-2.0",
        is_tried=False,
    )

    def check(self, config: TrtllmConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
        """List what TensorRT-LLM would refuse, quietly change, or could not hold; without a GPU, only that."""
        return list(violations(config, model, hardware))

    def launch_plan(self, config: TrtllmConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Start the child program, which hands the options to `trtllm-serve` as a file and becomes it."""
        settings = json.dumps(options(config), separators=(",", ":"), sort_keys=True)
        command = ("serve", str(model.path), f"--host={LOOPBACK}", f"--port={ports['http']}", *_flags(config))
        return LaunchPlan(
            argv=("python", str(PROGRAM), "--options", settings, "--", *command),
            ports=dict(ports),
            served_model=model.path.name,
            env=dict(ENVIRON),
            metrics_path="/prometheus/metrics",  # its /metrics is JSON, and is emptied by each reading
        )

    def port_names(self) -> tuple[str, ...]:
        """Name the one port that it opens by number; its ranks meet through MPI."""
        return ("http",)

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map its series."""
        return METRICS

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why it ended, from the end of its log."""
        return classify(log_tail)


def _flags(config: TrtllmConfig) -> Iterator[str]:
    for name, value in config.changed().items():
        if name in FLAGS:
            yield f"--{FLAGS[name]}" if value is True else f"--{FLAGS[name]}={value}"
