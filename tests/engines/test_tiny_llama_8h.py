"""The llama of random weights: equal bytes from its seed, and one model to the engines that read its two formats."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from adapters.llamacpp.config import LlamaCppConfig
from adapters.protocol import ModelRef
from orchestrator.domain.weights import weights_relation
from orchestrator.models import fetch
from orchestrator.models.provenance import provenance_of
from orchestrator.models.random_llama import write_random_folder
from orchestrator.models.tiny_llama import TINY
from tests.engines.llamacpp_server import running_llamacpp

pytestmark = pytest.mark.engine

CHECKPOINT = "ae67373122504fa09ae09eb2252fcbdcbb2a7802aea0eb2b96415c8edc6b42b0"
TEXTS = (
    "The capital of France is", "One two three", "def f(x):", "Water boils at", "Once upon a time there",
    "SELECT * FROM", "In 1969,", "The quick brown fox",
)  # fmt: skip
NUM_TOKENS = 4


@pytest.fixture(scope="module")
def tiny() -> dict[str, ModelRef]:
    return {ref.variant: ref for ref in fetch(TINY.name).variants}


def test_the_seed_gives_the_checkpoint_that_it_always_gave(tiny: dict[str, ModelRef]) -> None:
    for ref in tiny.values():
        assert provenance_of(ref.path).checkpoint_digest == ref.checkpoint_digest == CHECKPOINT
    assert weights_relation(tiny["bf16"], tiny["bf16-hf"]) == "same"


def test_making_it_again_gives_equal_bytes(tiny: dict[str, ModelRef], tmp_path: Path) -> None:
    write_random_folder(tmp_path / "again", TINY)
    for file in (tmp_path / "again").iterdir():
        assert file.read_bytes() == (tiny["bf16-hf"].path / file.name).read_bytes()


def test_it_speaks_the_tokens_of_the_real_model(
    tiny: dict[str, ModelRef], smollm2_variants: dict[str, ModelRef]
) -> None:
    files = [ref.tokenizer_path for ref in (*tiny.values(), *smollm2_variants.values()) if ref.tokenizer_path]
    assert len(files) == 6
    assert len({file.read_bytes() for file in files}) == 1


def test_llama_cpp_and_transformers_continue_alike(tiny: dict[str, ModelRef], tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny["bf16-hf"].path)
    model = AutoModelForCausalLM.from_pretrained(tiny["bf16-hf"].path, dtype=torch.float32)
    num_equal = 0
    with running_llamacpp(tiny["bf16"], tmp_path / "engine.log", LlamaCppConfig(n_ctx=512, n_threads=1)) as server:
        for text in TEXTS:
            prompt = tokenizer(text).input_ids
            body = {"prompt": prompt, "n_predict": NUM_TOKENS, "temperature": 0, "return_tokens": True}
            tokens = model.generate(torch.tensor([prompt]), max_new_tokens=NUM_TOKENS, do_sample=False)[0]
            num_equal += server.post("/completion", body)["tokens"] == tokens[len(prompt) :].tolist()
    assert num_equal >= len(TEXTS) - 1
