"""What TensorRT-LLM would refuse, or quietly change, found before it is started. Arithmetic only.

The rules stand in its sources: `llmapi/llm_args.py`, `commands/serve.py`, `_torch/pyexecutor/model_engine.py`.
"""

from collections.abc import Iterator

from adapters.protocol import Hardware, ModelRef, Violation
from adapters.sharding import cut_violations, gpu_violations, weights_bytes
from adapters.trtllm.config import PYTORCH_ONLY, TrtllmConfig
from adapters.trtllm.memory import request_bytes

GIB = 1 << 30
UNREAD = frozenset({"awq", "gptq"})  # quantization_config methods that its llmapi/llm_utils.py refuses
NEED_DRAFT_MODEL = frozenset({"Eagle", "Draft_Target"})
SPECULATION = (
    "speculative_config_max_draft_len",
    "speculative_config_max_matching_ngram_size",
    "speculative_config_speculative_model_dir",
    "speculative_config_max_concurrency",
)
GRAPHS = ("cuda_graph_config_enable_padding", "cuda_graph_config_max_batch_size")


def violations(config: TrtllmConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Yield every reason why the configuration cannot be served; without a GPU that is the only one."""
    if not hardware.has_cuda:
        yield Violation(
            "hardware", "no CUDA GPU", f"{config.tp * config.pp} CUDA GPU(s): TensorRT-LLM runs on no other"
        )
        return
    if model.format != "hf":
        yield Violation("model", f"{model.name} as {model.format}", "a Hugging Face folder: it is given no other")
        return
    if model.weights_precision in UNREAD:
        allowed = "other weights, such as FP8 or what ModelOpt quantised: it reads no folder that comes so"
        yield Violation("model", f"{model.weights_precision} weights", allowed)
    yield from cut_violations(config, model)
    yield from gpu_violations(config, hardware)
    yield from _lengths(config, model)
    yield from _graphs(config)
    yield from _speculation(config)
    yield from _backend(config)
    yield from _idle(config)
    yield from _memory(config, model, hardware)


def _lengths(config: TrtllmConfig, model: ModelRef) -> Iterator[Violation]:
    longest, tokens = config.max_seq_len, config.kv_cache_config_max_tokens
    if longest is not None and longest > model.context_tokens:
        yield Violation("max_seq_len", longest, f"at most the model's context, {model.context_tokens}")
    if config.max_batch_size > config.max_num_tokens:
        yield Violation("max_num_tokens", config.max_num_tokens, f"at least max_batch_size, {config.max_batch_size}")
    least = longest or model.context_tokens
    if tokens is not None and tokens < least:
        yield Violation("kv_cache_config_max_tokens", tokens, f"at least {least}, the longest request")


def _graphs(config: TrtllmConfig) -> Iterator[Violation]:
    most = min(config.max_batch_size, config.max_num_tokens // (1 + (config.speculative_config_max_draft_len or 0)))
    if config.cuda_graph_config_max_batch_size > most:
        allowed = f"at most {most}, the largest batch of decodes: the engine drops larger graphs without a word"
        yield Violation("cuda_graph_config_max_batch_size", config.cuda_graph_config_max_batch_size, allowed)


def _speculation(config: TrtllmConfig) -> Iterator[Violation]:
    kind = config.speculative_config_decoding_type
    if kind is None:
        return
    if config.speculative_config_max_draft_len is None:
        yield Violation("speculative_config_max_draft_len", None, f"at least 1 with {kind}")
    if kind == "NGram" and config.speculative_config_max_matching_ngram_size == 0:
        yield Violation("speculative_config_max_matching_ngram_size", 0, "at least 1 with NGram")
    if kind in NEED_DRAFT_MODEL and config.speculative_config_speculative_model_dir is None:
        yield Violation("speculative_config_speculative_model_dir", None, f"the draft model of {kind}")


def _backend(config: TrtllmConfig) -> Iterator[Violation]:
    changed = config.changed()
    if config.backend == "tensorrt":
        for name in PYTORCH_ONLY:
            if name in changed:
                yield Violation(name, changed[name], "the default with backend tensorrt, which does not know it")


def _idle(config: TrtllmConfig) -> Iterator[Violation]:
    """Yield settings that another one switches off: one configuration would be measured under two names."""
    groups = (
        (SPECULATION, config.speculative_config_decoding_type is not None, "speculative_config_decoding_type"),
        (GRAPHS, config.use_cuda_graph, "use_cuda_graph"),
        (("scheduler_config_context_chunking_policy",), config.enable_chunked_prefill, "enable_chunked_prefill"),
        (
            ("kv_cache_config_enable_partial_reuse", "kv_cache_config_host_cache_size"),
            config.kv_cache_config_enable_block_reuse,
            "kv_cache_config_enable_block_reuse",
        ),
    )
    changed = config.changed()
    for names, is_used, needs in groups:
        for name in names:
            if name in changed and not is_used:
                yield Violation(name, changed[name], f"the default: without {needs} it changes nothing")


def _memory(config: TrtllmConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Ask for room for one longest request in the KV cache's share of what the weights leave, on the smallest GPU."""
    if not hardware.gpu_memory_bytes:
        return
    share = config.kv_cache_free_gpu_memory_fraction
    weights = weights_bytes(model) / (config.tp * config.pp)
    cache = request_bytes(config, model)
    if cache > (min(hardware.gpu_memory_bytes) - weights) * share:
        longest = config.max_seq_len or model.context_tokens
        need = f"{cache / GIB:.1f} GiB for one request of {longest} tokens beside {weights / GIB:.1f} GiB of weights"
        yield Violation("kv_cache_free_gpu_memory_fraction", share, f"room on each GPU for {need}")
