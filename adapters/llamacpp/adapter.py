"""How llama.cpp is configured, checked, started and read. Runs nothing and imports no engine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from adapters.llamacpp.config import LlamaCppConfig
from adapters.llamacpp.context import BLOCK, UNQUANTISED, allocated_tokens, kv_cache_bytes, slot_tokens
from adapters.llamacpp.failures import classify
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

PROGRAM = Path(__file__).with_name("serve.py")
GIB = 1 << 30

METRICS: Mapping[str, ServerMetric] = {
    "llamacpp:requests_processing": ServerMetric("engine_requests_running", "requests", "gauge"),
    "llamacpp:requests_deferred": ServerMetric("engine_requests_waiting", "requests", "gauge"),
    # the engine counts a prompt's cached tokens apart from those that it computes
    "llamacpp:prompt_tokens_total": ServerMetric(
        "engine_input_tokens", "tokens", "counter", adds_to=("prefix_cache_query_tokens",)
    ),
    "llamacpp:prompt_tokens_cached_total": ServerMetric(
        "prefix_cache_hit_tokens", "tokens", "counter", adds_to=("engine_input_tokens", "prefix_cache_query_tokens")
    ),
    "llamacpp:tokens_predicted_total": ServerMetric("engine_output_tokens", "tokens", "counter"),
    "llamacpp:spec_decode_num_draft_tokens_total": ServerMetric("spec_draft_tokens", "tokens", "counter"),
    "llamacpp:spec_decode_num_accepted_tokens_total": ServerMetric("spec_accepted_tokens", "tokens", "counter"),
}


class LlamaCppAdapter:
    """llama.cpp's HTTP server in a process of its own, one model, on loopback."""

    name: ClassVar[str] = "llamacpp"
    config_type: ClassVar[type[EngineConfig]] = LlamaCppConfig
    capabilities: ClassVar[Capabilities] = Capabilities(
        output_length_control="ignore_eos",
        keeps_alive=False,  # it closes the connection after a streamed answer, in spite of its Keep-Alive header
        formats=("gguf",),
    )
    environment: ClassVar[Environment] = Environment(
        builds=(Build("xllamacpp", "2026.10.11549", needs="cpu", lock="llamacpp-cpu.lock"),),
        module="xllamacpp",
        hardware="any CPU; the wheel has builds for CUDA and others",
        licence="MIT",
        verified=("2026.10.11549",),
    )

    def check(self, config: LlamaCppConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
        """List what llama.cpp would refuse, silently change, or could not hold in memory."""
        if model.format != "gguf":
            return [
                Violation("model", f"{model.name} as {model.format}", "a GGUF variant: llama.cpp reads nothing else")
            ]
        return [
            *_check_parallelism(config),
            *_check_context(config, model),
            *_check_batch(config),
            *_check_cache_types(config, model),
            *_check_memory(config, model, hardware),
        ]

    def launch_plan(self, config: LlamaCppConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Start the child program with the whole configuration; the deployer puts its interpreter for `python`."""
        settings = json.dumps(config.engine_settings(), separators=(",", ":"), sort_keys=True)
        argv = ("python", str(PROGRAM), "--model", str(model.path), "--alias", model.name)
        return LaunchPlan(
            argv=(*argv, "--port", str(ports["http"]), "--settings", settings),
            ports={"http": ports["http"]},
            served_model=model.name,
        )

    def port_names(self) -> tuple[str, ...]:
        """Name the one port that it opens."""
        return ("http",)

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map its series; it has none for KV cache use, preemptions or time to first token."""
        return METRICS

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why it ended, from the end of its log."""
        return classify(log_tail)


def _check_parallelism(config: LlamaCppConfig) -> list[Violation]:
    return [
        Violation(key, seen, "1: llama.cpp's server runs as one rank here")
        for key, seen in (("tp", config.tp), ("pp", config.pp))
        if seen != 1
    ]


def _check_context(config: LlamaCppConfig, model: ModelRef) -> list[Violation]:
    needed = config.min_context_tokens
    if needed > model.context_tokens:
        return [Violation("min_context_tokens", needed, f"at most the model's context, {model.context_tokens}")]
    share = slot_tokens(config, model)
    if share >= needed:
        return []
    least = needed if config.kv_unified else needed * config.n_parallel
    detail = f"at least {least}: n_ctx is shared out over {config.n_parallel} slots, {share} tokens each"
    return [Violation("n_ctx", config.n_ctx, f"{detail}, and the longest request has {needed}")]


def _check_batch(config: LlamaCppConfig) -> list[Violation]:
    if config.n_ubatch <= config.n_batch:
        return []
    return [
        Violation("n_ubatch", config.n_ubatch, f"at most n_batch, {config.n_batch}: the engine would cut it silently")
    ]


def _check_cache_types(config: LlamaCppConfig, model: ModelRef) -> list[Violation]:
    found = []
    if config.cache_type_v not in UNQUANTISED and config.flash_attn_type == "disabled":
        found.append(Violation("cache_type_v", config.cache_type_v, "f32, f16 or bf16 without flash attention"))
    head_size = model.hidden_size // model.num_heads
    if head_size % BLOCK:
        allowed = f"f32, f16 or bf16: blocks of {BLOCK} do not divide the head size {head_size}"
        cache_types = (("cache_type_k", config.cache_type_k), ("cache_type_v", config.cache_type_v))
        found += [Violation(key, seen, allowed) for key, seen in cache_types if seen not in UNQUANTISED]
    return found


def _check_memory(config: LlamaCppConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
    """Compare weights and KV cache with the memory; compute buffers and the prompt cache come on top."""
    weights = model.path.stat().st_size if model.path.is_file() else 0
    cache = kv_cache_bytes(config, model)
    have = hardware.memory_bytes + sum(hardware.gpu_memory_bytes)
    if weights + cache <= have:
        return []
    tokens = allocated_tokens(config, model)
    need = f"{tokens} tokens take {cache / GIB:.1f} GiB beside {weights / GIB:.1f} GiB of weights"
    return [Violation("n_ctx", config.n_ctx, f"a KV cache that fits {have / GIB:.1f} GiB of memory; {need}")]
