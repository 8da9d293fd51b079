"""What SGLang would refuse, or quietly change, found before it is started. Arithmetic only.

Each rule stands in the sources of 0.5.23: `arg_groups/`, `managers/schedule_policy.py`, `configs/model_config.py`.
"""

from collections.abc import Iterator

from adapters.protocol import Hardware, ModelRef, Violation
from adapters.sglang.config import SglangConfig
from adapters.sglang.memory import value_bytes
from adapters.sharding import cut_violations, gpu_violations, kv_bytes_per_token, weights_bytes

GIB = 1 << 30
CACHE_AWARE = frozenset({"lpm", "dfs-weight", "hrrn", "shortest-prefill-first"})
NEED_DRAFT_MODEL = frozenset({"EAGLE3", "STANDALONE"})
SPECULATION = ("speculative_draft_model_path", "speculative_num_steps", "speculative_num_draft_tokens")
BRANCHES = ("speculative_eagle_topk",)
NGRAM = ("speculative_ngram_max_bfs_breadth", "speculative_ngram_max_trie_depth")
HOST_CACHE = ("hicache_ratio", "hicache_write_policy")
DECODE_GRAPHS = ("cuda_graph_max_bs_decode", "disable_cuda_graph_padding")


def violations(config: SglangConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Yield every reason why the configuration cannot be served; without a GPU that is the only one."""
    if not hardware.has_cuda:
        yield Violation(
            "hardware", "no CUDA GPU", f"{config.tp * config.pp} CUDA GPU(s): SGLang runs here on CUDA only"
        )
        return
    if model.format != "hf":
        yield Violation("model", f"{model.name} as {model.format}", "a Hugging Face folder: SGLang is given no other")
        return
    if ":" in model.name:
        yield Violation("model", model.name, "a name without a colon, which SGLang keeps for LoRA adapters")
    yield from cut_violations(config, model)
    yield from gpu_violations(config, hardware)
    yield from _lengths(config, model)
    yield from _cache(config)
    yield from _graphs(config)
    yield from _speculation(config)
    yield from _idle(config)
    yield from _memory(config, model, hardware)


def _lengths(config: SglangConfig, model: ModelRef) -> Iterator[Violation]:
    longest, chunk, page = config.context_length, config.chunked_prefill_size, config.page_size
    if longest is not None and longest > model.context_tokens:
        yield Violation("context_length", longest, f"at most the model's context, {model.context_tokens}")
    if chunk == 0:
        yield Violation("chunked_prefill_size", chunk, "at least 1, or -1 for whole prompts")
    elif chunk is not None and page is not None and chunk > 0 and chunk % page:
        yield Violation("chunked_prefill_size", chunk, f"a multiple of page_size, {page}")
    if config.enable_mixed_chunk and chunk == -1:
        yield Violation("enable_mixed_chunk", True, "false where prompts are not cut into chunks")


def _cache(config: SglangConfig) -> Iterator[Violation]:
    if not config.disable_radix_cache:
        return
    if config.schedule_policy in CACHE_AWARE:
        yield Violation("schedule_policy", config.schedule_policy, "fcfs, lof or random without the prefix cache")
    if config.enable_hierarchical_cache:
        yield Violation("enable_hierarchical_cache", True, "false without the prefix cache")
    if config.radix_eviction_policy != "lru":
        yield Violation("radix_eviction_policy", config.radix_eviction_policy, "lru without the prefix cache")


def _graphs(config: SglangConfig) -> Iterator[Violation]:
    if config.disable_cuda_graph_padding and config.enable_torch_compile:
        yield Violation("disable_cuda_graph_padding", True, "false with enable_torch_compile: each batch size compiles")
    if config.pp > 1 and config.disable_overlap_schedule:
        yield Violation("disable_overlap_schedule", True, "the default with pp > 1, which disables it anyway")


def _speculation(config: SglangConfig) -> Iterator[Violation]:
    kind, steps = config.speculative_algorithm, config.speculative_num_steps
    if kind is None:
        return
    if config.pp > 1:
        yield Violation("speculative_algorithm", kind, "none with pp > 1")
    if config.enable_mixed_chunk:
        yield Violation("enable_mixed_chunk", True, "false with speculation")
    if kind == "NGRAM":
        yield from _ngram(config)
        return
    if kind in NEED_DRAFT_MODEL and config.speculative_draft_model_path is None:
        yield Violation("speculative_draft_model_path", None, f"the draft model of {kind}")
    tokens, topk = config.speculative_num_draft_tokens, config.speculative_eagle_topk
    if (steps is None, topk is None, tokens is None) not in ((True,) * 3, (False,) * 3):
        yield Violation(
            "speculative_num_steps", steps, "set with speculative_eagle_topk and _num_draft_tokens, or none"
        )
    elif steps is not None and topk == 1 and tokens != steps + 1:
        yield Violation("speculative_num_draft_tokens", tokens, f"{steps + 1}: one more than the steps of one branch")


def _ngram(config: SglangConfig) -> Iterator[Violation]:
    pages, breadth = config.page_size or 1, config.speculative_ngram_max_bfs_breadth
    if pages > 1 and breadth > 1 and config.attention_backend != "flashinfer":
        yield Violation(
            "page_size", pages, "1, or attention_backend flashinfer, or speculative_ngram_max_bfs_breadth 1"
        )
    if config.speculative_eagle_topk is not None:
        yield Violation(*_unused("speculative_eagle_topk", config, "EAGLE"))


def _unused(name: str, config: SglangConfig, needs: str) -> Violation:
    return Violation(name, getattr(config, name), f"the default: without {needs} it changes nothing")


def _idle(config: SglangConfig) -> Iterator[Violation]:
    """Yield settings that another one switches off: one configuration would be measured under two names."""
    kind = config.speculative_algorithm
    groups = (
        ((*SPECULATION, *BRANCHES), kind is not None, "speculative_algorithm"),
        (NGRAM, kind == "NGRAM", "speculative_algorithm NGRAM"),
        (HOST_CACHE, config.enable_hierarchical_cache, "enable_hierarchical_cache"),
        (DECODE_GRAPHS, config.cuda_graph_backend_decode != "disabled", "decode CUDA graphs"),
        (("torch_compile_max_bs",), config.enable_torch_compile, "enable_torch_compile"),
    )
    changed = config.model_dump(exclude_defaults=True)
    for names, is_used, needs in groups:
        yield from (_unused(name, config, needs) for name in names if name in changed and not is_used)


def _memory(config: SglangConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Ask for room for one longest request beside the weights, on the smallest GPU."""
    if not hardware.gpu_memory_bytes:
        return
    longest = config.context_length or model.context_tokens
    weights = weights_bytes(model) / (config.tp * config.pp)
    cache = longest * kv_bytes_per_token(config, model, value_bytes=value_bytes(config))
    share = config.mem_fraction_static or 1.0
    if weights + cache > min(hardware.gpu_memory_bytes) * share:
        need = f"{weights / GIB:.1f} GiB of weights and {cache / GIB:.1f} GiB for one request of {longest} tokens"
        yield Violation("mem_fraction_static", config.mem_fraction_static, f"room on each GPU for {need}")
