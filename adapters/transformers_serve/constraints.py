"""What `transformers serve` would refuse, silently ignore, or die of at its first request. Starts nothing."""

from collections.abc import Iterator

from adapters.protocol import Hardware, ModelRef, Violation
from adapters.transformers_serve.config import TransformersConfig
from adapters.transformers_serve.memory import plan_cache, weights_bytes

GIB = 1 << 30
READERS = {
    "awq": "gptqmodel",
    "gptq": "optimum and gptqmodel",
    "compressed-tensors": "compressed-tensors",
    "bitsandbytes": "bitsandbytes",
}  # the packages with which Transformers reads weights that come quantised


def violations(config: TransformersConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Yield every reason why the configuration cannot be served."""
    if model.format != "hf":
        yield Violation("model", f"{model.name} as {model.format}", "a Hugging Face folder: only its tokenizer is sure")
        return
    yield from _parallelism(config)
    yield from _context(config, model)
    yield from _device(config, hardware)
    yield from _quantised(model, hardware)
    if config.continuous_batching:
        yield from _batching(config)
        yield from _cache(config, model, hardware)
    else:
        yield from _no_batching(config)
        yield from _weights(config, model, hardware)


def _parallelism(config: TransformersConfig) -> Iterator[Violation]:
    for key, seen in (("tp", config.tp), ("pp", config.pp)):
        if seen != 1:
            yield Violation(key, seen, "1: `transformers serve` runs as one rank")


def _context(config: TransformersConfig, model: ModelRef) -> Iterator[Violation]:
    if config.min_context_tokens > model.context_tokens:
        allowed = f"at most the model's context, {model.context_tokens}"
        yield Violation("min_context_tokens", config.min_context_tokens, allowed)


def _device(config: TransformersConfig, hardware: Hardware) -> Iterator[Violation]:
    if hardware.has_cuda:
        return
    if config.device.startswith("cuda"):
        yield Violation("device", config.device, "auto or cpu: this machine has no CUDA device")
    if config.attn_implementation in ("flash_attention_2", "flash_attention_3"):
        yield Violation("attn_implementation", config.attn_implementation, "eager or sdpa: flash attention needs CUDA")
    if config.quantization is not None:
        yield Violation("quantization", config.quantization, "none: the CPU environment carries no bitsandbytes")
    if config.cb_use_cuda_graph is not None:
        yield Violation("cb_use_cuda_graph", config.cb_use_cuda_graph, "unset: without CUDA it has no effect")


def _quantised(model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Refuse what the CPU environment cannot read; FP8 needs nothing more, and is turned into BF16 without a GPU."""
    needs = READERS.get(model.weights_precision)
    if needs is not None and not hardware.has_cuda:
        allowed = f"other weights: the CPU environment carries no {needs}"
        yield Violation("model", f"{model.weights_precision} weights", allowed)


def _batching(config: TransformersConfig) -> Iterator[Violation]:
    if config.compile:
        yield Violation("compile", config.compile, "false: continuous batching ignores it")
    if config.attn_implementation == "flex_attention":
        yield Violation("attn_implementation", config.attn_implementation, "any other with continuous batching")


def _no_batching(config: TransformersConfig) -> Iterator[Violation]:
    for name in type(config).model_fields:
        if name.startswith("cb_") and getattr(config, name) is not None:
            yield Violation(name, getattr(config, name), "unset: without continuous_batching it has no effect")


def _cache(config: TransformersConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Ask for a cache that fits the memory share and holds the longest request: else the engine's worker dies."""
    plan = plan_cache(config, model, hardware)
    have = f"{plan.have_bytes / GIB:.2f} GiB, the share of memory that it may take"
    if config.cb_num_blocks is not None and plan.need_bytes > plan.have_bytes:
        allowed = f"fewer blocks: with a step's tokens they take {plan.need_bytes / GIB:.2f} GiB of {have}"
        yield Violation("cb_num_blocks", config.cb_num_blocks, allowed)
    elif plan.blocks < 1:
        key = "cb_max_batch_tokens" if config.cb_max_memory_percent is None else "cb_max_memory_percent"
        yield Violation(key, getattr(config, key), f"room for a KV block beside the tokens of a step in {have}")
    elif plan.tokens < config.min_context_tokens:
        allowed = f"room for the longest request, {config.min_context_tokens} tokens; the cache holds {plan.tokens}"
        yield Violation("cb_num_blocks", config.cb_num_blocks, allowed)


def _weights(config: TransformersConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    need, have = weights_bytes(config, model), hardware.memory_bytes + sum(hardware.gpu_memory_bytes)
    if need > have:
        yield Violation("model", model.name, f"weights of at most {have / GIB:.1f} GiB; seen {need / GIB:.1f} GiB")
