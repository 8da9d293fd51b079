import json
from pathlib import Path
from typing import Any

import pytest

from adapters.mii.adapter import MiiAdapter
from adapters.mii.config import MiiConfig
from adapters.protocol import Hardware, ModelRef, Violation

GIB = 1 << 30


def violations(model: ModelRef, hardware: Hardware, **settings: object) -> list[Violation]:
    return MiiAdapter().check(MiiConfig.model_validate(settings), model, hardware)


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"pp": 2}, "pp", "no pipeline parallelism"),
        ({"tp": 2}, "tp", "a divisor or a multiple of the 3 KV heads"),
        ({"replica_num": 5}, "replica_num", "at most 4 devices in all"),
        ({"replica_num": 2, "tp": 3}, "replica_num", "seen 2 replicas of 3"),
        ({"tp": 9}, "tp", "seen 1 replicas of 9"),
        ({"min_context_tokens": 9000}, "min_context_tokens", "at most the model's context, 8192"),
        ({"min_context_tokens": 600, "max_context": 512}, "max_context", "at least 600"),
        ({"min_context_tokens": 600, "max_length": 512}, "max_length", "at least 600"),
        ({"max_ragged_sequence_count": 800}, "max_ragged_sequence_count", "at most max_ragged_batch_size, 768"),
        ({"max_tracked_sequences": 100}, "max_ragged_sequence_count", "at most max_tracked_sequences, 100"),
        ({"quantization_mode": "wf6af16"}, "quantization_mode", "None for weights in bf16"),
        ({"memory_config_size": 9 * GIB}, "memory_config_size", "a device of 8.0 GiB"),
        ({"memory_config_mode": "allocate", "memory_config_size": 3000}, "memory_config_size", "take 8.2 GiB"),
    ],
)
def test_what_cannot_be_deployed_is_named(
    model: ModelRef, hardware: Hardware, settings: dict[str, object], key: str, words: str
) -> None:
    (found,) = violations(model, hardware, **settings)
    assert found.key == key
    assert found.seen == settings.get(key, getattr(MiiConfig(), key))
    assert words in found.allowed


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tp": 3},
        {"replica_num": 4},
        {"min_context_tokens": 512, "max_context": 512, "max_length": 512},
        {"max_ragged_sequence_count": 768},
        {"memory_config_mode": "allocate", "memory_config_size": 2900},
    ],
)
def test_what_can_be_deployed_is_let_through(model: ModelRef, hardware: Hardware, settings: dict[str, object]) -> None:
    assert violations(model, hardware, **settings) == []


def test_without_a_gpu_one_line_says_what_is_missing(model: ModelRef) -> None:
    (found,) = violations(model, Hardware(cpu_count=2, memory_bytes=1 << 34), pp=2, max_context=1)
    assert (found.key, found.seen) == ("hardware", "no CUDA device")
    assert "CUDA and NCCL" in found.allowed
    assert "\n" not in found.allowed


def test_half_precision_weights_may_be_quantised(model: ModelRef, hardware: Hardware) -> None:
    halves = model.model_copy(update={"weights_precision": "f16"})
    assert violations(halves, hardware, quantization_mode="wf6af16") == []


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"format": "gguf"}, "sample as gguf"),
        ({"weights_precision": "f32"}, "f32"),
        ({"weights_precision": "awq"}, "awq"),
    ],
)
def test_other_weights_are_refused(model: ModelRef, hardware: Hardware, changes: dict[str, str], seen: str) -> None:
    (found,) = violations(model.model_copy(update=changes), hardware)
    assert (found.key, found.seen) == ("model", seen)


def checkpoint(folder: Path, *tensors: str, **config: Any) -> Path:
    """Write a checkpoint without values: a configuration and a header that names tensors."""
    header = json.dumps({name: {"dtype": "BF16", "shape": [0], "data_offsets": [0, 0]} for name in tensors}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **config}))
    return folder


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "gemma3"}, "this is gemma3"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}}, "asks for 'llama3'"),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, "asks for 'linear'"),
        ({"tie_word_embeddings": True}, "its own lm_head.weight"),
    ],
)
def test_a_checkpoint_that_the_engine_refuses_is_named(
    model: ModelRef, hardware: Hardware, tmp_path: Path, config: dict[str, Any], words: str
) -> None:
    path = checkpoint(tmp_path, "model.embed_tokens.weight", **config)
    (found,) = violations(model.model_copy(update={"path": path}), hardware)
    assert found.key == "model"
    assert words in found.allowed


@pytest.mark.parametrize(
    ("tensors", "config"),
    [
        (["lm_head.weight"], {"tie_word_embeddings": True}),
        ([], {"tie_word_embeddings": False}),
        ([], {"model_type": "qwen2", "tie_word_embeddings": True}),
        ([], {"rope_parameters": {"rope_type": "default", "rope_theta": 1e5}}),
        ([], {"rope_scaling": None}),
    ],
)
def test_a_checkpoint_that_the_engine_takes_is_let_through(
    model: ModelRef, hardware: Hardware, tmp_path: Path, tensors: list[str], config: dict[str, Any]
) -> None:
    path = checkpoint(tmp_path, *tensors, **config)
    assert violations(model.model_copy(update={"path": path}), hardware) == []


def test_an_index_names_the_tensors_of_a_checkpoint_in_parts(
    model: ModelRef, hardware: Hardware, tmp_path: Path
) -> None:
    path = checkpoint(tmp_path, tie_word_embeddings=True)
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": "a.safetensors"}}))
    assert violations(model.model_copy(update={"path": path}), hardware) == []


def test_weights_count_in_the_memory_of_a_device(model: ModelRef, hardware: Hardware, tmp_path: Path) -> None:
    with (tmp_path / "sparse.safetensors").open("wb") as file:
        file.truncate(9 * GIB)
    heavy = model.model_copy(update={"path": tmp_path})
    assert [found.key for found in violations(heavy, hardware)] == ["memory_config_size"]
    assert violations(heavy, hardware, tp=3) == []
