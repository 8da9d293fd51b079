"""Opens unquantised weights of the llama architecture as tensors under their Hugging Face names. Reads no tensor.

Anything else is refused with the reason: an architecture, a name or a type that is not known, a tensor that is missing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.domain.errors import InputError
from orchestrator.models import llama_layout
from orchestrator.models.gguf_header import read_header
from orchestrator.models.llama_layout import COMPUTED, EMBEDDING, HEAD, NORM, OUTSIDE, names_of_biases, names_of_layers
from orchestrator.models.safetensors_file import read_safetensors
from orchestrator.models.tensors import StoredTensor

GGUF_ARCHITECTURES = ("llama",)
HF_ARCHITECTURES = ("llama", "mistral")  # GGUF knows both as llama


class QuantisedError(InputError):
    """The values of the checkpoint are not in the files."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All of a checkpoint's tensors by Hugging Face name; in a GGUF's order of rows where `heads` (q, k) says so."""

    tensors: Mapping[str, StoredTensor]
    heads: tuple[int, int] | None

    def permuted_heads(self, name: str) -> int | None:
        """Return how many heads a tensor's rows must be put in order for, None where they are in order."""
        if self.heads is None:
            return None
        return llama_layout.permuted_heads(name, num_heads=self.heads[0], num_kv_heads=self.heads[1])


def open_checkpoint(path: Path) -> Checkpoint:
    """Open a GGUF file or a Hugging Face folder.

    Raises:
        QuantisedError: it is quantised.
        InputError: it is not of the llama architecture, not complete, or holds more than that.
    """
    return _open_folder(path) if path.is_dir() else _open_gguf(path)


def _open_gguf(path: Path) -> Checkpoint:
    metadata, tensors = read_header(path)
    architecture = _known(metadata.get("general.architecture"), GGUF_ARCHITECTURES)
    num_layers = _whole(metadata, f"{architecture}.block_count")
    num_heads = _whole(metadata, f"{architecture}.attention.head_count")
    num_kv_heads = _whole(metadata, f"{architecture}.attention.head_count_kv", num_heads)
    names = {**OUTSIDE, **names_of_layers(num_layers), **names_of_biases(num_layers)}
    _refuse_quantised(tensors)
    found = {names.get(name, name): tensor for name, tensor in tensors.items() if not name.endswith(COMPUTED)}
    return Checkpoint(_complete(found, num_layers=num_layers, needs_head=False), (num_heads, num_kv_heads))


def _open_folder(path: Path) -> Checkpoint:
    config: dict[str, Any] = json.loads((path / "config.json").read_text(encoding="utf-8"))
    if "quantization_config" in config:
        raise QuantisedError("quantised, and the files do not hold the checkpoint that it was made from")
    _known(config.get("model_type"), HF_ARCHITECTURES)
    is_tied = config.get("tie_word_embeddings", False) is True
    tensors = _shards(path)
    found = {name: tensor for name, tensor in tensors.items() if not name.endswith(COMPUTED)}
    if is_tied:
        found.pop(HEAD, None)  # engines use the embedding, whatever is here
    _refuse_quantised(found)
    return Checkpoint(
        _complete(found, num_layers=_whole(config, "num_hidden_layers"), needs_head=not is_tied), heads=None
    )


def _shards(path: Path) -> dict[str, StoredTensor]:
    tensors: dict[str, StoredTensor] = {}
    for file in sorted(path.glob("*.safetensors")):
        shard = read_safetensors(file)
        twice = sorted(shard.keys() & tensors.keys())
        if twice:
            raise InputError(f"{file.name} holds {twice[0]}, as another file of the folder does")
        tensors |= shard
    if not tensors:
        raise InputError("no safetensors, the one kind of weights that is read here beside GGUF")
    return tensors


def _known(seen: object, known: tuple[str, ...]) -> str:
    if seen not in known:
        raise InputError(f"architecture {seen!r} is not among those read here ({', '.join(known)})")
    return str(seen)


def _whole(facts: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = facts.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{key} is {value!r}, expected a whole number")
    return value


def _refuse_quantised(tensors: Mapping[str, StoredTensor]) -> None:
    other = next((one for one in tensors.items() if not one[1].is_plain), None)
    if other is not None:
        raise QuantisedError(
            f"{other[0]} is stored as {other[1].dtype}, and the files do not hold the checkpoint it was made from"
        )


def _complete(tensors: dict[str, StoredTensor], *, num_layers: int, needs_head: bool) -> dict[str, StoredTensor]:
    needed = {EMBEDDING, NORM, *names_of_layers(num_layers).values(), *([HEAD] if needs_head else [])}
    missing = sorted(needed - tensors.keys())
    if missing:
        raise InputError(f"{len(missing)} tensors are missing, {missing[0]} among them")
    beyond = sorted(tensors.keys() - needed - {HEAD, *names_of_biases(num_layers).values()})
    if beyond:
        raise InputError(f"{len(beyond)} tensors are not those of the architecture, {beyond[0]} among them")
    return tensors
