from dataclasses import replace
from pathlib import Path

import pytest

from adapters.protocol import Hardware, Violation
from adapters.samples import sample_model
from adapters.transformers_serve.adapter import TransformersAdapter
from adapters.transformers_serve.config import TransformersConfig
from adapters.transformers_serve.memory import plan_cache

MODEL = sample_model("hf")
CPU = Hardware(cpu_count=2, memory_bytes=24 << 30)
CUDA = replace(CPU, gpu_names=("any",), gpu_memory_bytes=(80 << 30,))
BATCHED: dict[str, object] = {"continuous_batching": True}


def violations(settings: dict[str, object], hardware: Hardware = CPU) -> list[Violation]:
    return TransformersAdapter().check(TransformersConfig.model_validate(settings), MODEL, hardware)


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"tp": 2}, "tp", "one rank"),
        ({"pp": 2}, "pp", "one rank"),
        ({"min_context_tokens": 9000}, "min_context_tokens", "at most the model's context, 8192"),
        ({"device": "cuda:0"}, "device", "no CUDA device"),
        ({"attn_implementation": "flash_attention_2"}, "attn_implementation", "needs CUDA"),
        ({"quantization": "bnb-4bit"}, "quantization", "no bitsandbytes"),
        ({**BATCHED, "cb_use_cuda_graph": True}, "cb_use_cuda_graph", "no effect"),
        ({"cb_block_size": 64}, "cb_block_size", "without continuous_batching"),
        ({"cb_max_batch_tokens": 64}, "cb_max_batch_tokens", "without continuous_batching"),
        ({**BATCHED, "compile": True}, "compile", "ignores it"),
        ({**BATCHED, "attn_implementation": "flex_attention"}, "attn_implementation", "any other"),
        ({**BATCHED, "cb_num_blocks": 1_000_000}, "cb_num_blocks", "10042.56 GiB"),
        ({**BATCHED, "cb_max_memory_percent": 0.01}, "cb_max_memory_percent", "room for a KV block"),
        ({**BATCHED, "cb_max_batch_tokens": 100_000}, "cb_max_batch_tokens", "room for a KV block"),
        (
            {**BATCHED, "cb_num_blocks": 4, "cb_block_size": 16, "min_context_tokens": 65},
            "cb_num_blocks",
            "65 tokens; the cache holds 64",
        ),
    ],
)
def test_what_cannot_be_deployed_is_named(settings: dict[str, object], key: str, words: str) -> None:
    (found,) = violations(settings)
    assert (found.key, found.seen) == (key, settings[key])
    assert words in found.allowed


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"compile": True, "attn_implementation": "flex_attention", "dtype": "float32", "device": "cpu"},
        BATCHED,
        {**BATCHED, "cb_num_blocks": 4, "cb_block_size": 16, "min_context_tokens": 64},
        {**BATCHED, "cb_max_memory_percent": 0.1, "cb_max_batch_tokens": 256, "attn_implementation": "eager"},
    ],
)
def test_what_can_be_deployed_is_let_through(settings: dict[str, object]) -> None:
    assert violations(settings) == []


def test_a_gpu_allows_what_needs_one() -> None:
    settings = {"device": "cuda:0", "attn_implementation": "flash_attention_2", "quantization": "bnb-8bit"}
    assert violations({**BATCHED, **settings, "cb_use_cuda_graph": False}, CUDA) == []


def test_other_formats_are_refused() -> None:
    (found,) = TransformersAdapter().check(TransformersConfig(), sample_model("gguf"), CPU)
    assert found.key == "model"


def test_the_cache_takes_what_the_engine_itself_says() -> None:
    config = TransformersConfig(continuous_batching=True, cb_num_blocks=1_000_000)
    assert plan_cache(config, MODEL, CPU).need_bytes == 10_783_116_099_584  # as it logged it for these dimensions


def test_a_share_of_the_memory_becomes_as_many_blocks_as_the_engine_makes() -> None:
    config = TransformersConfig(continuous_batching=True, cb_max_memory_percent=0.01)
    free = replace(CPU, memory_bytes=24_803_471_360)
    assert plan_cache(config, MODEL, free).blocks == -15  # as it logged it, short of room


def test_blocks_that_fit_are_the_most_that_fit() -> None:
    config = TransformersConfig(continuous_batching=True)
    plan = plan_cache(config, MODEL, CPU)
    assert plan.need_bytes <= plan.have_bytes
    more = plan_cache(config.model_copy(update={"cb_num_blocks": plan.blocks + 2}), MODEL, CPU)
    assert more.need_bytes > more.have_bytes


def test_weights_count_in_the_memory(tmp_path: Path) -> None:
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(1 << 30)
    heavy, adapter = MODEL.model_copy(update={"path": tmp_path}), TransformersAdapter()
    just = replace(CPU, memory_bytes=1 << 30)
    assert adapter.check(TransformersConfig(), heavy, just) == []
    (found,) = adapter.check(TransformersConfig(dtype="float32"), heavy, just)
    assert "seen 2.0 GiB" in found.allowed
