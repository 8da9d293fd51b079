"""The models that Seatrial knows by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.protocol import ModelRef
from orchestrator.models import smollm2, tiny_llama
from orchestrator.models.shelf import Recipe
from orchestrator.models.tiny_llama import TINY


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with its artefacts by name; `variants` are those that engines load, the rest serves them.

    `checkpoint_digest` is that of the BF16 values which all variants share: what a quantised variant derives from is
    in no file of it, so its recipe has to say. None where no variant is quantised.
    """

    name: str
    licence: str
    recipes: Mapping[str, Recipe]
    variants: tuple[str, ...]
    summary: str = ""
    checkpoint_digest: str | None = None


KNOWN: Mapping[str, KnownModel] = {
    smollm2.NAME: KnownModel(
        name=smollm2.NAME,
        licence="Apache-2.0",
        recipes=smollm2.RECIPES,
        variants=smollm2.VARIANTS,
        summary="SmolLM2-135M-Instruct",
        checkpoint_digest=smollm2.CHECKPOINT,
    ),
    TINY.name: KnownModel(
        name=TINY.name,
        licence="none needed for the weights, which are random numbers; the tokenizer: Apache-2.0",
        recipes=tiny_llama.RECIPES,
        variants=tiny_llama.VARIANTS,
        summary=TINY.label,
    ),
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
