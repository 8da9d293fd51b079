"""Checkpoints that come quantised: each engine takes them, or says in one line why it cannot load them here."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters import registry
from adapters.protocol import Hardware, ModelRef, Violation
from orchestrator.models.describing import describe
from orchestrator.studies.candidates import model_for
from orchestrator.studies.reading import parse_study

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "max_position_embeddings": 2048,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "hidden_size": 512,
    "vocab_size": 1000,
    "dtype": "float16",
}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic"}
FP8_BLOCKS = {**FP8, "weight_block_size": [128, 128]}
METHODS = {"awq": AWQ, "gptq": GPTQ, "fp8": FP8}

AVX2 = Hardware(cpu_count=2, memory_bytes=24 << 30, cpu_flags=frozenset({"avx2"}))
AVX512 = replace(AVX2, cpu_flags=frozenset({"avx2", "avx512f"}))
AMX = replace(AVX2, cpu_flags=frozenset({"avx2", "avx512f", "amx_tile"}))
NOT_TOLD = replace(AVX2, cpu_flags=None)
CUDA = replace(AVX2, gpu_names=("any",), gpu_memory_bytes=(80 << 30,))


def folder(tmp_path: Path, quantisation: dict[str, Any]) -> ModelRef:
    path = tmp_path / "weights"
    path.mkdir()
    (path / "config.json").write_text(json.dumps({**CONFIG, "quantization_config": quantisation}))
    (path / "model.safetensors").write_bytes(b"none")
    return describe("mine", path, memory=tmp_path)


def check(engine: str, model: ModelRef, hardware: Hardware, **settings: object) -> list[Violation]:
    adapter = registry.get(engine)
    return adapter.check(adapter.config_type.model_validate(settings), model, hardware)


@pytest.mark.parametrize("method", METHODS)
def test_a_folder_describes_itself_as_derived_and_by_its_method(tmp_path: Path, method: str) -> None:
    model = folder(tmp_path, METHODS[method])
    assert (model.weights_precision, model.variant, model.is_derived) == (method, f"{method}-hf", True)
    assert model.checkpoint_digest is None


@pytest.mark.parametrize(
    ("engine", "quantisation", "hardware"),
    [
        ("vllm", AWQ, AVX512),
        ("vllm", GPTQ, AVX512),
        ("vllm", AWQ, NOT_TOLD),
        ("vllm", FP8, AVX2),
        ("vllm", FP8_BLOCKS, AMX),
        *(("vllm", one, CUDA) for one in (AWQ, GPTQ, FP8, FP8_BLOCKS)),
        ("transformers", FP8, AVX2),
        ("transformers", AWQ, CUDA),
        *(("sglang", one, CUDA) for one in (AWQ, GPTQ, FP8, FP8_BLOCKS)),
        ("trtllm", FP8, CUDA),
        ("trtllm", FP8_BLOCKS, CUDA),
    ],
)
def test_what_an_engine_can_load_passes(
    tmp_path: Path, engine: str, quantisation: dict[str, Any], hardware: Hardware
) -> None:
    assert check(engine, folder(tmp_path, quantisation), hardware) == []


@pytest.mark.parametrize(
    ("engine", "quantisation", "hardware", "words"),
    [
        ("vllm", AWQ, AVX2, "4-bit kernels for AVX-512 only"),
        ("vllm", GPTQ, AVX2, "4-bit kernels for AVX-512 only"),
        ("vllm", {**GPTQ, "bits": 8}, AVX512, "4 bits"),
        ("vllm", FP8_BLOCKS, AVX512, "FP8 in blocks for AMX only"),
        ("transformers", AWQ, AVX2, "no gptqmodel"),
        ("transformers", GPTQ, AVX2, "no optimum and gptqmodel"),
        ("transformers", {"quant_method": "compressed-tensors"}, AVX2, "no compressed-tensors"),
        ("trtllm", AWQ, CUDA, "other weights, such as FP8"),
        ("trtllm", GPTQ, CUDA, "other weights, such as FP8"),
        ("mii", AWQ, CUDA, "f16 or bf16"),
        ("mii", FP8, CUDA, "f16 or bf16"),
        ("llamacpp", AWQ, AVX2, "a GGUF variant"),
        ("llamacpp", FP8, AVX2, "a GGUF variant"),
    ],
)
def test_what_an_engine_cannot_load_here_is_refused_in_one_line(
    tmp_path: Path, engine: str, quantisation: dict[str, Any], hardware: Hardware, words: str
) -> None:
    (found,) = check(engine, folder(tmp_path, quantisation), hardware)
    assert (found.key, words in found.allowed) == ("model", True)


@pytest.mark.parametrize("engine", ["sglang", "trtllm", "mii"])
def test_without_a_gpu_an_engine_for_gpus_says_that_first(tmp_path: Path, engine: str) -> None:
    (found,) = check(engine, folder(tmp_path, AWQ), AVX2)
    assert found.key == "hardware"


@pytest.mark.parametrize("quantisation", [AWQ, GPTQ, FP8])
def test_vllm_computes_with_quantised_weights_in_half_precision_only(
    tmp_path: Path, quantisation: dict[str, Any]
) -> None:
    (found,) = check("vllm", folder(tmp_path, quantisation), CUDA, dtype="float32")
    assert found.key == "dtype"


def test_a_candidate_brings_its_own_quantised_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path / "cache"))
    own = {"name": "mine-awq", "path": str(folder(tmp_path, AWQ).path)}
    study = parse_study(
        {
            "name": "s",
            "model": {"name": "none", "variant": "none"},
            "engines": [{"name": "vllm", "model": own}, {"name": "simulated"}],
            "load": {"rates_rps": [1]},
            "slo": {"ttft_s": 1},
        },
        "study.yaml",
    )
    first, second = (model_for(study, one) for one in study.engines)
    assert (first.name, first.weights_precision, first.is_derived) == ("mine-awq", "awq", True)
    assert second.name == "none"
