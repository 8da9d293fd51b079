from dataclasses import replace
from pathlib import Path

import pytest

from adapters.llamacpp.adapter import LlamaCppAdapter
from adapters.llamacpp.config import LlamaCppConfig
from adapters.protocol import Hardware, ModelRef, Violation


def violations(model: ModelRef, hardware: Hardware, **settings: object) -> list[Violation]:
    return LlamaCppAdapter().check(LlamaCppConfig.model_validate(settings), model, hardware)


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"tp": 2}, "tp", "one rank"),
        ({"pp": 2}, "pp", "one rank"),
        ({"n_ctx": 2048, "n_parallel": 4, "min_context_tokens": 600}, "n_ctx", "at least 2400"),
        ({"n_ctx": 512, "kv_unified": True, "n_parallel": 4, "min_context_tokens": 600}, "n_ctx", "at least 600"),
        ({"min_context_tokens": 9000}, "min_context_tokens", "at most the model's context, 8192"),
        ({"n_batch": 64, "n_ubatch": 128}, "n_ubatch", "at most n_batch, 64"),
        ({"cache_type_v": "q8_0", "flash_attn_type": "disabled"}, "cache_type_v", "without flash attention"),
        ({"n_ctx": 200_000_000}, "n_ctx", "4291.5 GiB"),
    ],
)
def test_what_cannot_be_deployed_is_named(
    model: ModelRef, hardware: Hardware, settings: dict[str, object], key: str, words: str
) -> None:
    (found,) = violations(model, hardware, **settings)
    assert found.key == key
    assert found.seen == settings[key]
    assert words in found.allowed


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_ctx": 2048, "n_parallel": 4, "min_context_tokens": 512},
        {"n_ctx": 1024, "n_parallel": 8, "kv_unified": True, "min_context_tokens": 1024},
        {"cache_type_v": "q8_0"},
        {"cache_type_k": "q8_0", "flash_attn_type": "disabled"},
        {"n_batch": 64, "n_ubatch": 64},
    ],
)
def test_what_can_be_deployed_is_let_through(model: ModelRef, hardware: Hardware, settings: dict[str, object]) -> None:
    assert violations(model, hardware, **settings) == []


def test_weights_count_in_the_memory(model: ModelRef, hardware: Hardware, tmp_path: Path) -> None:
    weights = tmp_path / "sparse.gguf"
    with weights.open("wb") as file:
        file.truncate(1 << 30)
    cache_bytes = 180 << 20
    heavy = model.model_copy(update={"path": weights})
    assert violations(heavy, replace(hardware, memory_bytes=(1 << 30) + cache_bytes)) == []
    (found,) = violations(heavy, replace(hardware, memory_bytes=(1 << 30) + cache_bytes - 1))
    assert "beside 1.0 GiB of weights" in found.allowed


def test_memory_of_devices_counts_too(model: ModelRef, hardware: Hardware) -> None:
    small = replace(hardware, memory_bytes=1 << 20)
    assert [found.key for found in violations(model, small)] == ["n_ctx"]
    assert violations(model, replace(small, gpu_names=("any",), gpu_memory_bytes=(1 << 34,))) == []


def test_another_format_is_refused(model: ModelRef, hardware: Hardware) -> None:
    (found,) = violations(model.model_copy(update={"format": "hf"}), hardware)
    assert (found.key, found.seen) == ("model", "sample as hf")


def test_a_head_size_that_blocks_do_not_divide_needs_a_plain_cache(model: ModelRef, hardware: Hardware) -> None:
    odd = model.model_copy(update={"hidden_size": 80 * 9})
    assert violations(odd, hardware) == []
    found = violations(odd, hardware, cache_type_k="q8_0", cache_type_v="q4_0")
    assert [one.key for one in found] == ["cache_type_k", "cache_type_v"]
