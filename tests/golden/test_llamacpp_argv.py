"""The engine's command lines, word by word; after a change on purpose: SEATRIAL_UPDATE_GOLDEN=1, then read the diff."""

import json
import os
from pathlib import Path

import pytest

from adapters.llamacpp.adapter import PROGRAM, LlamaCppAdapter
from adapters.llamacpp.config import LlamaCppConfig
from adapters.protocol import ModelRef

GOLDEN = Path(__file__).parent / "llamacpp"
MODEL = ModelRef(
    name="smollm2-135m",
    variant="q8_0",
    format="gguf",
    path=Path("models/q8_0.gguf"),
    tokenizer_path=None,
    weights_precision="q8_0",
    weights_sha256="0" * 64,
    source="made up",
    context_tokens=8192,
    num_layers=30,
    num_heads=9,
    num_kv_heads=3,
    hidden_size=576,
    vocab_size=49152,
)
CONFIGS = {
    "default": LlamaCppConfig(),
    "served": LlamaCppConfig(n_ctx=4096, n_parallel=8, n_threads=1, n_threads_batch=1, min_context_tokens=512),
    "quantised_cache": LlamaCppConfig(cache_type_k="q8_0", cache_type_v="q8_0", flash_attn_type="enabled"),
    "speculative": LlamaCppConfig(speculative_types="ngram_simple", speculative_ngram_simple_size_m=16),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_argv(name: str) -> None:
    plan = LlamaCppAdapter().launch_plan(CONFIGS[name], MODEL, ports={"http": 8080})
    argv = [word.replace(str(PROGRAM), "<serve.py>") for word in plan.argv]
    seen = [json.loads(word) if word.startswith("{") else word for word in argv]
    golden = GOLDEN / f"{name}.json"
    if os.environ.get("SEATRIAL_UPDATE_GOLDEN"):
        golden.write_text(json.dumps(seen, indent=2) + "\n")
    assert seen == json.loads(golden.read_text())


def test_the_program_is_there_and_no_golden_file_is_left_over() -> None:
    assert PROGRAM.is_file()
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(CONFIGS)
