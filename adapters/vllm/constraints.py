"""What vLLM would refuse, found before it is started. Arithmetic only."""

from collections.abc import Iterator

from adapters.protocol import Hardware, ModelRef, Violation
from adapters.sharding import cut_violations, kv_bytes_per_token, weights_bytes
from adapters.vllm.config import VllmConfig
from adapters.vllm.lora import lora_violations
from adapters.vllm.quantised import quantised_violations

GIB = 1 << 30
CPU_BLOCK_TOKENS = 32
BYTES_PER_VALUE = {"float32": 4, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1}


def violations(config: VllmConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Yield every reason why the configuration cannot be served."""
    if model.format != "hf":
        yield Violation("model", f"{model.name} as {model.format}", "a Hugging Face folder: vLLM serves nothing else")
        return
    yield from cut_violations(config, model)
    yield from _lengths(config, model)
    yield from _memory(config, model, hardware)
    yield from lora_violations(config, model)
    yield from quantised_violations(config, model, hardware)
    if not hardware.has_cuda:
        yield from _cpu(config)


def _lengths(config: VllmConfig, model: ModelRef) -> Iterator[Violation]:
    longest = config.max_model_len or model.context_tokens
    if longest > model.context_tokens:
        yield Violation("max_model_len", longest, f"at most the model's context, {model.context_tokens}")
    batched = config.max_num_batched_tokens
    if batched is None:
        return
    if config.max_num_seqs is not None and batched < config.max_num_seqs:
        yield Violation("max_num_batched_tokens", batched, f"at least max_num_seqs, {config.max_num_seqs}")
    if config.enable_chunked_prefill is False and batched < longest:
        yield Violation("max_num_batched_tokens", batched, f"at least {longest}: prompts are not cut into chunks")


def _memory(config: VllmConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Ask for room for one longest request beside the weights: vLLM refuses to start with less."""
    longest, ranks = config.max_model_len or model.context_tokens, config.tp * config.pp
    needed = longest * ranks * kv_bytes_per_token(config, model, value_bytes=_value_bytes(config))
    if not hardware.has_cuda and config.vllm_cpu_kvcache_space is not None:
        room = config.vllm_cpu_kvcache_space * GIB * ranks
        if needed > room:
            allowed = f"at least {needed / GIB:.1f} GiB: one request of {longest} tokens"
            yield Violation("vllm_cpu_kvcache_space", config.vllm_cpu_kvcache_space, allowed)
        if room > hardware.memory_bytes:
            allowed = f"less than the memory of {hardware.memory_bytes / GIB:.1f} GiB over {ranks} ranks"
            yield Violation("vllm_cpu_kvcache_space", config.vllm_cpu_kvcache_space, allowed)
    if hardware.gpu_memory_bytes:
        weights = weights_bytes(model)
        room = round(min(hardware.gpu_memory_bytes) * config.gpu_memory_utilization) * ranks
        if weights + needed > room:
            have = f"{weights / GIB:.1f} GiB of weights and {needed / GIB:.1f} GiB for one request of {longest} tokens"
            yield Violation("gpu_memory_utilization", config.gpu_memory_utilization, f"room for {have}")


def _value_bytes(config: VllmConfig) -> int:
    return BYTES_PER_VALUE.get(config.kv_cache_dtype if config.kv_cache_dtype != "auto" else config.dtype, 2)


def _cpu(config: VllmConfig) -> Iterator[Violation]:
    if config.block_size is not None and config.block_size % CPU_BLOCK_TOKENS:
        yield Violation("block_size", config.block_size, f"a multiple of {CPU_BLOCK_TOKENS} on a CPU")
    ranks, cores = config.tp * config.pp, config.vllm_cpu_omp_threads_bind
    if ranks == 1:
        return
    if cores is None:
        example = "|".join(str(rank) for rank in range(ranks))
        yield Violation("vllm_cpu_omp_threads_bind", None, f"the cores of each of {ranks} ranks, such as {example}")
        return
    parts = cores.split("|")
    if len(parts) != ranks:
        yield Violation("vllm_cpu_omp_threads_bind", cores, f"cores for {ranks} ranks, seen for {len(parts)}")
    bound = [core for part in parts for core in cores_of(part)]
    if len(set(bound)) < len(bound):
        yield Violation("vllm_cpu_omp_threads_bind", cores, "ranks that share no core")


def cores_of(text: str) -> list[int]:
    """Read a list of cores such as `0,2-4`.

    Raises:
        ValueError: it is no such list.
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
