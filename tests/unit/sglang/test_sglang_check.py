from dataclasses import replace
from pathlib import Path

import pytest

from adapters.protocol import Hardware, ModelRef, Violation
from adapters.samples import sample_model
from adapters.sglang.adapter import SglangAdapter
from adapters.sglang.config import SglangConfig

GIB = 1 << 30
MODEL = sample_model("hf")  # 9 heads, 3 KV heads, 30 layers, 8192 tokens of context
GPUS = Hardware(cpu_count=8, memory_bytes=64 * GIB, gpu_names=("any",) * 40, gpu_memory_bytes=(8 * GIB,) * 40)


def violations(model: ModelRef = MODEL, hardware: Hardware = GPUS, **settings: object) -> list[Violation]:
    return SglangAdapter().check(SglangConfig.model_validate(settings), model, hardware)


NGRAM = {"speculative_algorithm": "NGRAM"}
EAGLE = {"speculative_algorithm": "EAGLE3", "speculative_draft_model_path": "draft"}


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"tp": 2}, "tp", "a divisor of the model's 9 attention heads"),
        ({"pp": 31}, "pp", "at most the model's 30 layers"),
        ({"tp": 9, "pp": 5}, "tp", "at most 40 GPU(s), seen 9 x 5"),
        ({"context_length": 9000}, "context_length", "at most the model's context, 8192"),
        ({"chunked_prefill_size": 0}, "chunked_prefill_size", "at least 1, or -1"),
        ({"chunked_prefill_size": 1000, "page_size": 16}, "chunked_prefill_size", "a multiple of page_size, 16"),
        ({"chunked_prefill_size": -1, "enable_mixed_chunk": True}, "enable_mixed_chunk", "not cut into chunks"),
        ({"disable_radix_cache": True, "schedule_policy": "lpm"}, "schedule_policy", "without the prefix cache"),
        (
            {"disable_radix_cache": True, "enable_hierarchical_cache": True},
            "enable_hierarchical_cache",
            "false without the prefix cache",
        ),
        ({"disable_radix_cache": True, "radix_eviction_policy": "lfu"}, "radix_eviction_policy", "lru"),
        (
            {"disable_cuda_graph_padding": True, "enable_torch_compile": True},
            "disable_cuda_graph_padding",
            "false with enable_torch_compile",
        ),
        ({"pp": 2, "disable_overlap_schedule": True}, "disable_overlap_schedule", "the default with pp > 1"),
        ({"pp": 2, **NGRAM}, "speculative_algorithm", "none with pp > 1"),
        ({"enable_mixed_chunk": True, **NGRAM}, "enable_mixed_chunk", "false with speculation"),
        ({"page_size": 16, **NGRAM}, "page_size", "attention_backend flashinfer"),
        ({"speculative_algorithm": "EAGLE3"}, "speculative_draft_model_path", "the draft model of EAGLE3"),
        ({"speculative_num_steps": 3, **EAGLE}, "speculative_num_steps", "set with speculative_eagle_topk"),
        (
            {"speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 8, **EAGLE},
            "speculative_num_draft_tokens",
            "4: one more than the steps",
        ),
        ({"speculative_num_draft_tokens": 8}, "speculative_num_draft_tokens", "without speculative_algorithm"),
        ({"speculative_eagle_topk": 2, **NGRAM}, "speculative_eagle_topk", "without EAGLE it changes nothing"),
        ({"speculative_ngram_max_trie_depth": 8}, "speculative_ngram_max_trie_depth", "NGRAM"),
        ({"hicache_ratio": 3.0}, "hicache_ratio", "without enable_hierarchical_cache it changes nothing"),
        ({"torch_compile_max_bs": 8}, "torch_compile_max_bs", "without enable_torch_compile it changes nothing"),
        (
            {"cuda_graph_backend_decode": "disabled", "cuda_graph_max_bs_decode": 8},
            "cuda_graph_max_bs_decode",
            "without decode CUDA graphs",
        ),
        ({"mem_fraction_static": 0.01}, "mem_fraction_static", "0.2 GiB for one request of 8192 tokens"),
    ],
)
def test_what_cannot_be_deployed_is_named(settings: dict[str, object], key: str, words: str) -> None:
    (found,) = violations(**settings)
    assert found.key == key
    assert found.seen == settings.get(key)
    assert words in found.allowed


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tp": 3, "pp": 2},
        {"chunked_prefill_size": 1024, "page_size": 16, "enable_mixed_chunk": True},
        {"disable_radix_cache": True, "schedule_policy": "lof"},
        {"page_size": 16, "attention_backend": "flashinfer", **NGRAM},
        {"page_size": 16, "speculative_ngram_max_bfs_breadth": 1, **NGRAM},
        {"speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4, **EAGLE},
        {"speculative_algorithm": "EAGLE"},
        {"enable_hierarchical_cache": True, "hicache_ratio": 3.0},
    ],
)
def test_what_can_be_deployed_is_let_through(settings: dict[str, object]) -> None:
    assert violations(**settings) == []


def test_ranks_and_kv_heads_must_divide_each_other() -> None:
    assert violations(sample_model("hf", num_heads=12, num_kv_heads=4), tp=2) == []
    assert violations(sample_model("hf", num_heads=8, num_kv_heads=2), tp=8) == []
    (found,) = violations(sample_model("hf", num_heads=12, num_kv_heads=4), tp=6)
    assert (found.key, found.seen) == ("tp", 6)
    assert "a multiple of the model's 4 KV heads" in found.allowed


def test_another_format_is_refused() -> None:
    (found,) = violations(sample_model("gguf"))
    assert (found.key, found.seen) == ("model", "sample as gguf")


def test_a_name_that_it_would_take_for_an_adapter_is_refused() -> None:
    (found,) = violations(sample_model("hf", name="org:model"))
    assert (found.key, found.seen) == ("model", "org:model")


def test_memory_is_judged_by_the_smallest_gpu_and_only_where_it_is_known() -> None:
    uneven = replace(GPUS, gpu_memory_bytes=(8 * GIB, 1 << 20))
    assert [found.key for found in violations(hardware=uneven)] == ["mem_fraction_static"]
    assert violations(hardware=replace(uneven, gpu_memory_bytes=())) == []


def test_weights_and_one_request_must_fit_to_the_byte(tmp_path: Path) -> None:
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(GIB)
    model = sample_model("hf", path=tmp_path)
    request = 8192 * 2 * 30 * 3 * 64 * 2  # tokens x (keys, values) x layers x KV heads x head size x bytes
    assert violations(model, replace(GPUS, gpu_memory_bytes=(GIB + request,))) == []
    (found,) = violations(model, replace(GPUS, gpu_memory_bytes=(GIB + request - 1,)))
    assert "1.0 GiB of weights" in found.allowed


def test_ranks_share_weights_and_cache_and_fp8_halves_it() -> None:
    request = 8192 * 2 * 30 * 3 * 64 * 2
    assert violations(hardware=replace(GPUS, gpu_memory_bytes=(request // 6,) * 6), tp=3, pp=2) == []
    assert violations(hardware=replace(GPUS, gpu_memory_bytes=(request // 2,)), kv_cache_dtype="fp8_e4m3") == []
    assert violations(hardware=replace(GPUS, gpu_memory_bytes=(request // 2,))) != []
