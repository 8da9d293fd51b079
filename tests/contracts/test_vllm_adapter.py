"""vLLM's adapter keeps the rules of every adapter, on CUDA and on its CPU build."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from adapters.conformance import AdapterConformance
from adapters.protocol import Hardware
from adapters.samples import sample_model
from adapters.vllm.adapter import VllmAdapter
from adapters.vllm.config import VllmConfig
from tests.contracts.transcripts import read_transcripts

MODEL = sample_model("hf", num_heads=8, num_kv_heads=4, hidden_size=512)
CPU = Hardware(cpu_count=2, memory_bytes=24 << 30)
CUDA = replace(CPU, gpu_names=("any", "any"), gpu_memory_bytes=(80 << 30, 80 << 30))
EVERYTHING = VllmConfig(
    tp=2,
    pp=2,
    serve_llm=True,
    max_model_len=1024,
    max_num_seqs=32,
    max_num_batched_tokens=2048,
    enable_chunked_prefill=False,
    long_prefill_token_threshold=256,
    scheduling_policy="priority",
    async_scheduling=True,
    stream_interval=2,
    block_size=32,
    enable_prefix_caching=False,
    kv_cache_dtype="fp8",
    gpu_memory_utilization=0.8,
    vllm_cpu_kvcache_space=2,
    vllm_cpu_omp_threads_bind="0|1|2|3",
    dtype="float16",
    quantization="fp8",
    load_format="dummy",
    enforce_eager=True,
    optimization_level=1,
    speculative_config='{"method": "ngram", "num_speculative_tokens": 3}',
    enable_lora=True,
    max_loras=2,
    max_lora_rank=8,
    lora_modules="sql=adapters/sql,chat=adapters/chat",
)


class _Vllm(AdapterConformance):
    adapter = VllmAdapter()
    model = MODEL
    examples = (EVERYTHING, VllmConfig(max_num_seqs=4))
    not_passed = frozenset({"serve_llm"})
    transcripts = read_transcripts("vllm")


class TestVllmOnCpu(_Vllm):
    hardware = CPU


class TestVllmOnCuda(_Vllm):
    hardware = CUDA


def test_the_example_sets_every_field() -> None:
    default = VllmConfig()
    assert [name for name in VllmConfig.model_fields if getattr(EVERYTHING, name) == getattr(default, name)] == []


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"tp": 3, "vllm_cpu_omp_threads_bind": "0|1|2"}, "tp", "divisor of the model's 8"),
        ({"pp": 31, "vllm_cpu_omp_threads_bind": "|".join(map(str, range(31)))}, "pp", "30 layers"),
        ({"max_model_len": 9000}, "max_model_len", "8192"),
        ({"max_num_seqs": 64, "max_num_batched_tokens": 32}, "max_num_batched_tokens", "max_num_seqs"),
        ({"max_num_batched_tokens": 512, "enable_chunked_prefill": False}, "max_num_batched_tokens", "chunks"),
        ({"block_size": 24}, "block_size", "multiple of 32"),
        ({"tp": 2}, "vllm_cpu_omp_threads_bind", "such as 0|1"),
        ({"tp": 2, "vllm_cpu_omp_threads_bind": "0-1"}, "vllm_cpu_omp_threads_bind", "2 ranks, seen for 1"),
        ({"tp": 2, "vllm_cpu_omp_threads_bind": "0-1|1"}, "vllm_cpu_omp_threads_bind", "share no core"),
        ({"vllm_cpu_kvcache_space": 30}, "vllm_cpu_kvcache_space", "less than the memory"),
    ],
)
def test_what_the_engine_would_refuse_is_found_before(settings: dict[str, object], key: str, words: str) -> None:
    found = VllmAdapter().check(VllmConfig.model_validate(settings), MODEL, CPU)
    assert [(one.key, words in one.allowed) for one in found] == [(key, True)]


def test_a_cache_too_small_for_one_request_is_found_before() -> None:
    large = MODEL.model_copy(update={"num_layers": 80, "context_tokens": 131072, "num_kv_heads": 8})
    (found,) = VllmAdapter().check(VllmConfig(vllm_cpu_kvcache_space=1), large, CPU)
    assert found.allowed.startswith("at least 20.0 GiB")
    (found,) = VllmAdapter().check(VllmConfig(), large, replace(CUDA, gpu_memory_bytes=(8 << 30,)))
    assert found.key == "gpu_memory_utilization"


def test_the_weights_must_be_a_folder() -> None:
    (found,) = VllmAdapter().check(VllmConfig(), sample_model("gguf"), CPU)
    assert found.key == "model"


def test_both_ways_of_deploying_ask_for_the_same_engine() -> None:
    config = VllmConfig(max_num_seqs=8, enforce_eager=True, vllm_cpu_kvcache_space=1, serve_llm=True)
    plan = VllmAdapter().launch_plan(config, MODEL, ports={"http": 8080, "internal": 8081})
    assert plan.executor == "ray"
    assert plan.serve_llm is not None
    assert plan.serve_llm["engine_kwargs"] == {"max_num_seqs": 8, "enforce_eager": True}
    assert {"--max-num-seqs=8", "--enforce-eager"} <= set(plan.argv)
    assert plan.serve_llm["runtime_env"]["env_vars"]["VLLM_CPU_KVCACHE_SPACE"] == plan.env["VLLM_CPU_KVCACHE_SPACE"]


def an_adapter(folder: Path, *, rank: object = 8) -> str:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": rank}))
    return f"{folder.name}={folder}"


def lora_violations(**settings: object) -> list[tuple[str, str]]:
    found = VllmAdapter().check(VllmConfig.model_validate(settings), MODEL, CPU)
    return [(one.key, one.allowed) for one in found]


def test_adapters_that_fit_pass(tmp_path: Path) -> None:
    modules = ",".join(an_adapter(tmp_path / name) for name in ("sql", "chat"))
    assert lora_violations(enable_lora=True, max_loras=2, lora_modules=modules) == []


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({}, "lora_modules", "none without enable_lora"),
        ({"enable_lora": True, "serve_llm": True}, "lora_modules", "none with serve_llm"),
        ({"enable_lora": True, "max_lora_rank": 1}, "max_lora_rank", "at least 8, the rank of adapter sql"),
    ],
)
def test_adapters_that_would_not_be_served_are_found_before(
    tmp_path: Path, settings: dict[str, object], key: str, words: str
) -> None:
    ((seen, allowed),) = lora_violations(lora_modules=an_adapter(tmp_path / "sql"), **settings)
    assert (seen, words in allowed) == (key, True)


@pytest.mark.parametrize("settings", [{"max_loras": 2}, {"max_lora_rank": 64}])
def test_a_setting_of_adapters_without_adapters_is_found_before(settings: dict[str, object]) -> None:
    ((key, allowed),) = lora_violations(**settings)
    assert (key, "without enable_lora" in allowed) == (next(iter(settings)), True)


def test_an_adapter_named_as_the_model_is_found_before(tmp_path: Path) -> None:
    ((key, allowed),) = lora_violations(enable_lora=True, lora_modules=an_adapter(tmp_path / MODEL.name))
    assert (key, "differ from each other" in allowed) == ("lora_modules", True)


@pytest.mark.parametrize("rank", [None, "eight"])
def test_a_folder_that_is_no_adapter_is_found_before(tmp_path: Path, rank: object) -> None:
    ((key, allowed),) = lora_violations(enable_lora=True, lora_modules=an_adapter(tmp_path / "sql", rank=rank))
    assert (key, "adapter_config.json" in allowed) == ("lora_modules", True)
    ((key, _),) = lora_violations(enable_lora=True, lora_modules=f"sql={tmp_path / 'absent'}")
    assert key == "lora_modules"


@pytest.mark.parametrize("text", ["", "sql", "=path", "sql=", "sql=a,", "sql=a,chat"])
def test_adapters_in_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="lora_modules"):
        VllmConfig(lora_modules=text)
