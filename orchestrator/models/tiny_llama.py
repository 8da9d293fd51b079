"""How the llama of random weights is made, for tensor-parallel tests; its tokenizer is the small real model's."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from orchestrator.models import smollm2
from orchestrator.models.random_llama import RandomLlama, write_random_folder, write_random_gguf
from orchestrator.models.shelf import Recipe, Shelf
from orchestrator.models.smollm2 import ORIGINAL, TOKENIZER
from orchestrator.models.space import MB

VARIANTS = ("bf16", "bf16-hf")

TINY = RandomLlama(
    name="tiny-llama-8h",
    seed=8,
    num_layers=4,
    num_heads=8,
    num_kv_heads=4,
    head_size=64,  # some attention kernels take no smaller one
    intermediate_size=1024,
    vocab_size=49152,
    context_tokens=2048,
)


def _borrow(artefact: str, *, shelf_of: Path) -> Path:
    """Obtain an artefact of the small real model, whose shelf stands beside the one that `shelf_of` is made on."""
    shelf = Shelf(shelf_of.parent.with_name(smollm2.NAME), smollm2.RECIPES)
    shelf.obtain((artefact,))
    return shelf.path_of(artefact)


def _random_tokenizer(target: Path, _sources: Mapping[str, Path]) -> str:
    shutil.copytree(_borrow(TOKENIZER, shelf_of=target), target)
    return f"the tokenizer of {smollm2.NAME}"


def _random_folder(target: Path, _sources: Mapping[str, Path]) -> str:
    tokenizer = _borrow(TOKENIZER, shelf_of=target)
    write_random_folder(target, TINY)
    shutil.copytree(tokenizer, target, dirs_exist_ok=True)
    return f"{TINY.label}; with the tokenizer of {smollm2.NAME}"


def _random_gguf(target: Path, _sources: Mapping[str, Path]) -> str:
    note = write_random_gguf(target, TINY, tokenizer=_borrow(ORIGINAL, shelf_of=target))
    return f"{TINY.label}; with the tokenizer of {smollm2.NAME}; {note}"


RECIPES: Mapping[str, Recipe] = {
    TOKENIZER: Recipe("tokenizer", _random_tokenizer, size_bytes=5 * MB),
    "bf16": Recipe("bf16.gguf", _random_gguf, size_bytes=130 * MB),
    "bf16-hf": Recipe("bf16-hf", _random_folder, size_bytes=130 * MB),
}
