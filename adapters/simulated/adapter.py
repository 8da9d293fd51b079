"""How the simulated engine is configured, checked, started and read. Runs nothing."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from adapters.protocol import (
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
from adapters.simulated.config import SimulatedConfig
from adapters.simulated.options import flag_name

PROGRAM = Path(__file__).with_name("server.py")

METRICS: Mapping[str, ServerMetric] = {
    "simulated_requests_running": ServerMetric("engine_requests_running", "requests", "gauge"),
    "simulated_requests_waiting": ServerMetric("engine_requests_waiting", "requests", "gauge"),
    "simulated_kv_cache_utilization_ratio": ServerMetric("kv_cache_utilization", "ratio", "gauge"),
    "simulated_prompt_tokens_total": ServerMetric("engine_input_tokens", "tokens", "counter"),
    "simulated_generation_tokens_total": ServerMetric("engine_output_tokens", "tokens", "counter"),
    "simulated_prefix_cache_hits_total": ServerMetric("prefix_cache_hit_tokens", "tokens", "counter"),
    "simulated_prefix_cache_queries_total": ServerMetric("prefix_cache_query_tokens", "tokens", "counter"),
    "simulated_time_to_first_token_seconds": ServerMetric("engine_ttft", "seconds", "histogram"),
}

SIGNS: tuple[tuple[StartFailure, str], ...] = (
    (StartFailure.OUT_OF_MEMORY, r"out of memory|MemoryError|cannot allocate memory|\bOOM\b"),
    (StartFailure.PORT_TAKEN, r"address already in use"),
    (StartFailure.BAD_FLAG, r"unrecognized arguments|invalid choice|invalid \w+ value|error: --|expected one argument"),
    (StartFailure.MISSING_PACKAGE, r"No module named|ModuleNotFoundError"),
    (StartFailure.BAD_MODEL, r"failed to load model|unsupported model"),
    (StartFailure.LOST_DEVICE, r"device lost|no CUDA-capable device|Xid"),
)


class SimulatedAdapter:
    """An engine whose timings are known, on loopback; what is measured on it is labelled simulated."""

    name: ClassVar[str] = "simulated"
    config_type: ClassVar[type[EngineConfig]] = SimulatedConfig
    capabilities: ClassVar[Capabilities] = Capabilities(
        output_length_control="ignore_eos",
        cache_reset_path="/reset_prefix_cache",
        is_simulated=True,
        formats=("none", "hf", "gguf"),
        lora=True,
    )
    environment: ClassVar[Environment] = Environment(builds=(), module=None, hardware="any", licence="Apache-2.0")

    def check(self, config: SimulatedConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:  # noqa: ARG002 - the protocol's signature
        """List what no engine could do, or this one not; any model will do, also one without weights."""
        return [*_check_parallelism(config, model), *_check_chunks(config), *_check_lengths(config)]

    def launch_plan(self, config: SimulatedConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Start the server with a flag for each setting that is not the default; `python` stands for an interpreter."""
        port = ports["http"]
        argv = ("python", str(PROGRAM), "--port", str(port), "--model", model.name, *_flags(config))
        return LaunchPlan(argv=argv, ports={"http": port}, served_model=model.name)

    def port_names(self) -> tuple[str, ...]:
        """Name the one port that it opens."""
        return ("http",)

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map its series; it never preempts and does not speculate."""
        return METRICS

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why it ended: the sign nearest to the end of the log decides."""
        for line in reversed(log_tail.splitlines()):
            for failure, pattern in SIGNS:
                if re.search(pattern, line, re.IGNORECASE):
                    return failure
        return StartFailure.UNKNOWN


def _flags(config: SimulatedConfig) -> Iterator[str]:
    for name, value in config.model_dump(exclude_defaults=True).items():
        # one word, so that a value which begins with a dash is never read as a flag
        yield f"{flag_name(name)}={value}"


def _check_parallelism(config: SimulatedConfig, model: ModelRef) -> Iterator[Violation]:
    if model.num_heads and model.num_heads % config.tp:
        yield Violation("tp", config.tp, f"a divisor of the model's {model.num_heads} attention heads")
    if model.num_layers and config.pp > model.num_layers:
        yield Violation("pp", config.pp, f"at most the model's {model.num_layers} layers")


def _check_chunks(config: SimulatedConfig) -> Iterator[Violation]:
    if config.tokens_per_chunk > 1 and config.chunks_per_token > 1:
        yield Violation("chunks_per_token", config.chunks_per_token, "1 beside several tokens_per_chunk")


def _check_lengths(config: SimulatedConfig) -> Iterator[Violation]:
    if config.max_model_len > config.kv_tokens:
        allowed = f"at most kv_tokens, {config.kv_tokens}: the longest request would not fit the KV pool"
        yield Violation("max_model_len", config.max_model_len, allowed)
