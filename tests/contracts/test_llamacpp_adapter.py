"""llama.cpp's adapter keeps the rules of every adapter; its program needs nothing but itself and the engine."""

import ast
import sys

from adapters.conformance import AdapterConformance
from adapters.llamacpp.adapter import PROGRAM, LlamaCppAdapter
from adapters.llamacpp.config import OURS, LlamaCppConfig
from adapters.protocol import Hardware
from adapters.samples import sample_model
from tests.contracts.transcripts import read_transcripts

MODEL = sample_model("gguf", weights_precision="q8_0")
EVERYTHING = LlamaCppConfig(
    tp=2,
    pp=2,
    min_context_tokens=512,
    n_ctx=8192,
    n_parallel=8,
    kv_unified=True,
    cont_batching=False,
    n_batch=512,
    n_ubatch=128,
    cache_prompt=False,
    cache_ram_mib=0,
    cache_idle_slots=False,
    n_cache_reuse=64,
    slot_prompt_similarity=0.5,
    cache_type_k="q8_0",
    cache_type_v="q4_0",
    flash_attn_type="enabled",
    n_threads=1,
    n_threads_batch=2,
    poll=0,
    n_gpu_layers=0,
    load_mode="none",
    no_extra_bufts=True,
    warmup=False,
    fit_params=False,
    speculative_types="ngram_mod",
    speculative_ngram_simple_size_n=6,
    speculative_ngram_simple_size_m=16,
    speculative_ngram_mod_n_match=12,
    speculative_ngram_mod_n_min=8,
    speculative_ngram_mod_n_max=32,
)


class TestLlamaCppAdapter(AdapterConformance):
    adapter = LlamaCppAdapter()
    model = MODEL
    hardware = Hardware(cpu_count=2, memory_bytes=1 << 34)
    examples = (EVERYTHING, LlamaCppConfig(n_parallel=4), LlamaCppConfig(n_batch=64))
    not_passed = OURS
    transcripts = read_transcripts("llamacpp")


def test_the_example_sets_every_field() -> None:
    default = LlamaCppConfig()
    assert [name for name in LlamaCppConfig.model_fields if getattr(EVERYTHING, name) == getattr(default, name)] == []


def test_the_program_imports_the_standard_library_and_the_engine_only() -> None:
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - sys.stdlib_module_names == {"xllamacpp"}


def test_no_key_is_on_the_command_line() -> None:
    argv = LlamaCppAdapter().launch_plan(LlamaCppConfig(), MODEL, ports={"http": 8080}).argv
    assert [word for word in argv if "key" in word.replace("cache_type_k", "").lower()] == []
