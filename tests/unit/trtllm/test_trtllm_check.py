from dataclasses import replace
from pathlib import Path

import pytest

from adapters.protocol import Hardware, ModelRef, Violation
from adapters.samples import sample_model
from adapters.trtllm.adapter import TrtllmAdapter
from adapters.trtllm.config import TrtllmConfig

GIB = 1 << 30
MODEL = sample_model("hf")  # 9 heads, 3 KV heads, 30 layers, 8192 tokens of context
GPUS = Hardware(cpu_count=8, memory_bytes=64 * GIB, gpu_names=("any",) * 40, gpu_memory_bytes=(8 * GIB,) * 40)
REQUEST = 8192 * 2 * 30 * 3 * 64 * 2  # tokens x (keys, values) x layers x KV heads x head size x bytes


def violations(model: ModelRef = MODEL, hardware: Hardware = GPUS, **settings: object) -> list[Violation]:
    return TrtllmAdapter().check(TrtllmConfig.model_validate(settings), model, hardware)


NGRAM = {
    "speculative_config_decoding_type": "NGram",
    "speculative_config_max_draft_len": 3,
    "speculative_config_max_matching_ngram_size": 2,
}


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"tp": 2}, "tp", "a divisor of the model's 9 attention heads"),
        ({"pp": 31}, "pp", "at most the model's 30 layers"),
        ({"tp": 9, "pp": 5}, "tp", "at most 40 GPU(s), seen 9 x 5"),
        ({"max_seq_len": 9000}, "max_seq_len", "at most the model's context, 8192"),
        ({"max_num_tokens": 1024}, "max_num_tokens", "at least max_batch_size, 2048"),
        ({"kv_cache_config_max_tokens": 8191}, "kv_cache_config_max_tokens", "at least 8192, the longest request"),
        (
            {"max_batch_size": 64, "cuda_graph_config_max_batch_size": 65},
            "cuda_graph_config_max_batch_size",
            "at most 64",
        ),
        (
            {"max_num_tokens": 2048, "cuda_graph_config_max_batch_size": 513, **NGRAM},
            "cuda_graph_config_max_batch_size",
            "at most 512",
        ),
        (
            {"use_cuda_graph": False, "cuda_graph_config_enable_padding": True},
            "cuda_graph_config_enable_padding",
            "without use_cuda_graph it changes nothing",
        ),
        ({**NGRAM, "speculative_config_max_draft_len": None}, "speculative_config_max_draft_len", "with NGram"),
        (
            {**NGRAM, "speculative_config_max_matching_ngram_size": 0},
            "speculative_config_max_matching_ngram_size",
            "at least 1 with NGram",
        ),
        (
            {"speculative_config_decoding_type": "Eagle", "speculative_config_max_draft_len": 3},
            "speculative_config_speculative_model_dir",
            "the draft model of Eagle",
        ),
        (
            {"speculative_config_max_draft_len": 3},
            "speculative_config_max_draft_len",
            "without speculative_config_decoding_type it changes nothing",
        ),
        (
            {"scheduler_config_context_chunking_policy": "EQUAL_PROGRESS"},
            "scheduler_config_context_chunking_policy",
            "without enable_chunked_prefill it changes nothing",
        ),
        (
            {"kv_cache_config_enable_block_reuse": False, "kv_cache_config_enable_partial_reuse": False},
            "kv_cache_config_enable_partial_reuse",
            "without kv_cache_config_enable_block_reuse it changes nothing",
        ),
        ({"backend": "tensorrt", "attn_backend": "FLASHINFER"}, "attn_backend", "the default with backend tensorrt"),
        (
            {"kv_cache_free_gpu_memory_fraction": 0.01},
            "kv_cache_free_gpu_memory_fraction",
            "0.2 GiB for one request of 8192 tokens",
        ),
    ],
)
def test_what_cannot_be_deployed_is_named(settings: dict[str, object], key: str, words: str) -> None:
    (found,) = violations(**settings)
    assert found.key == key
    assert found.seen == TrtllmConfig.model_validate(settings).model_dump()[key]
    assert words in found.allowed


@pytest.mark.parametrize(
    "settings",
    [
        {},
        NGRAM,
        {"tp": 3, "pp": 2},
        {"backend": "tensorrt", "kv_cache_config_enable_block_reuse": False},
        {"max_batch_size": 64, "cuda_graph_config_max_batch_size": 64, "cuda_graph_config_enable_padding": True},
        {"enable_chunked_prefill": True, "scheduler_config_context_chunking_policy": "EQUAL_PROGRESS"},
        {"kv_cache_config_max_tokens": 2048, "max_seq_len": 2048},
    ],
)
def test_what_can_be_deployed_is_let_through(settings: dict[str, object]) -> None:
    assert violations(**settings) == []


def test_ranks_and_kv_heads_must_divide_each_other() -> None:
    assert violations(sample_model("hf", num_heads=8, num_kv_heads=2), tp=8) == []
    (found,) = violations(sample_model("hf", num_heads=12, num_kv_heads=4), tp=6)
    assert "a multiple of the model's 4 KV heads" in found.allowed


def test_another_format_is_refused() -> None:
    (found,) = violations(sample_model("gguf"))
    assert (found.key, found.seen) == ("model", "sample as gguf")


def test_memory_is_judged_by_the_smallest_gpu_and_only_where_it_is_known() -> None:
    uneven = replace(GPUS, gpu_memory_bytes=(8 * GIB, 1 << 20))
    assert [found.key for found in violations(hardware=uneven)] == ["kv_cache_free_gpu_memory_fraction"]
    assert violations(hardware=replace(uneven, gpu_memory_bytes=())) == []


def test_the_cache_has_its_share_of_what_the_weights_leave(tmp_path: Path) -> None:
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(GIB)
    model = sample_model("hf", path=tmp_path)
    whole = {"kv_cache_free_gpu_memory_fraction": 1.0}
    assert violations(model, replace(GPUS, gpu_memory_bytes=(GIB + REQUEST,)), **whole) == []
    assert violations(model, replace(GPUS, gpu_memory_bytes=(GIB + REQUEST,))) != []
    (found,) = violations(model, replace(GPUS, gpu_memory_bytes=(GIB + REQUEST - 1,)), **whole)
    assert "beside 1.0 GiB of weights" in found.allowed


def test_a_request_takes_whole_blocks_and_ranks_share_it() -> None:
    whole = {"kv_cache_free_gpu_memory_fraction": 1.0}
    small = replace(GPUS, gpu_memory_bytes=(REQUEST * 128 // 8192,))
    assert violations(hardware=small, max_seq_len=100, kv_cache_config_tokens_per_block=128, **whole) == []
    assert violations(hardware=small, max_seq_len=129, kv_cache_config_tokens_per_block=128, **whole) != []
    assert violations(hardware=replace(GPUS, gpu_memory_bytes=(REQUEST // 6,)), tp=3, pp=2, **whole) == []
    assert (
        violations(hardware=replace(GPUS, gpu_memory_bytes=(REQUEST // 2,)), kv_cache_config_dtype="fp8", **whole) == []
    )
