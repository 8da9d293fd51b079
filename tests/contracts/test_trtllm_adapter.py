"""TensorRT-LLM's adapter keeps the rules of every adapter; the engine itself was never run with it."""

import ast
import json
import sys

from adapters.conformance import AdapterConformance
from adapters.protocol import Hardware
from adapters.samples import sample_model
from adapters.trtllm.adapter import PROGRAM, TrtllmAdapter
from adapters.trtllm.config import TrtllmConfig
from tests.contracts.transcripts import read_transcripts

MODEL = sample_model("hf")
GPUS = Hardware(
    cpu_count=64, memory_bytes=1 << 39, gpu_names=("NVIDIA H100 80GB HBM3",) * 8, gpu_memory_bytes=(80 << 30,) * 8
)
EVERYTHING = TrtllmConfig(
    tp=3,
    pp=2,
    backend="tensorrt",
    max_batch_size=64,
    max_num_tokens=4096,
    max_seq_len=2048,
    num_postprocess_workers=2,
    enable_chunked_prefill=True,
    dtype="float16",
    kv_cache_free_gpu_memory_fraction=0.8,
    kv_cache_config_enable_block_reuse=False,
    kv_cache_config_enable_partial_reuse=False,
    kv_cache_config_dtype="fp8",
    kv_cache_config_tokens_per_block=64,
    kv_cache_config_max_tokens=100_000,
    kv_cache_config_host_cache_size=1 << 34,
    scheduler_config_capacity_scheduler_policy="MAX_UTILIZATION",
    scheduler_config_context_chunking_policy="EQUAL_PROGRESS",
    attn_backend="FLASHINFER",
    disable_overlap_scheduler=True,
    cuda_graph_config_enable_padding=True,
    cuda_graph_config_max_batch_size=32,
    stream_interval=4,
    enable_autotuner=False,
    batch_wait_timeout_ms=5.0,
    speculative_config_decoding_type="NGram",
    speculative_config_max_draft_len=4,
    speculative_config_max_matching_ngram_size=2,
    speculative_config_speculative_model_dir="models/draft",
    speculative_config_max_concurrency=8,
)
WITHOUT_GRAPHS = TrtllmConfig(use_cuda_graph=False)  # apart: with it the other settings of graphs reach nothing


class TestTrtllmAdapter(AdapterConformance):
    adapter = TrtllmAdapter()
    model = MODEL
    hardware = GPUS
    examples = (EVERYTHING, WITHOUT_GRAPHS, TrtllmConfig(tp=3), TrtllmConfig(enable_chunked_prefill=True))
    transcripts = read_transcripts("trtllm")


def test_the_examples_set_every_field() -> None:
    default = TrtllmConfig()
    unset = [name for name in TrtllmConfig.model_fields if getattr(EVERYTHING, name) == getattr(default, name)]
    assert unset == ["use_cuda_graph"]
    assert WITHOUT_GRAPHS.use_cuda_graph is False


def test_missing_hardware_is_one_reason_in_one_line() -> None:
    (found,) = TrtllmAdapter().check(EVERYTHING, sample_model("gguf"), Hardware(cpu_count=2, memory_bytes=1 << 34))
    assert (found.key, found.seen) == ("hardware", "no CUDA GPU")
    assert found.allowed == "6 CUDA GPU(s): TensorRT-LLM runs on no other"
    assert "\n" not in found.allowed


def test_it_says_that_nobody_has_run_it() -> None:
    assert TrtllmAdapter.environment.is_tried is False
    assert "never run" in TrtllmAdapter.environment.hardware


def test_it_listens_on_loopback_only() -> None:
    argv = TrtllmAdapter().launch_plan(TrtllmConfig(), MODEL, ports={"http": 8080}).argv
    assert [word for word in argv if word.startswith("--host")] == ["--host=127.0.0.1"]


def test_no_setting_is_given_both_as_a_flag_and_in_the_file() -> None:
    argv = TrtllmAdapter().launch_plan(EVERYTHING, MODEL, ports={"http": 8080}).argv
    flags = {word.partition("=")[0].removeprefix("--") for word in argv if word.startswith("--")}
    assert flags & json.loads(argv[argv.index("--options") + 1]).keys() == set()


def test_the_program_imports_the_standard_library_only() -> None:
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == set()
