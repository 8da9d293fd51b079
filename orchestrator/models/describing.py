"""Describes weights on disk as a `ModelRef`: format, precision, shape, tokenizer, hash, checkpoint. Runs no model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.protocol import ModelRef
from orchestrator.domain.errors import InputError
from orchestrator.models.facts import whole
from orchestrator.models.gguf_header import ArrayLength, Scalar, read_metadata
from orchestrator.models.hashing import combined, remembered_sha256
from orchestrator.models.hf_config import hf_facts
from orchestrator.models.provenance import remembered_provenance

# llama_ftype of llama.cpp: what most of a file's tensors are stored in
FILE_TYPES = {
    0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s",
    12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k", 25: "iq4_nl",
    30: "iq4_xs", 32: "bf16",
}  # fmt: skip
TOKENIZER_FILE = "tokenizer.json"
WEIGHTS = ("*.safetensors", "*.bin")


def describe(
    name: str,
    path: Path,
    *,
    memory: Path,
    tokenizer: Path | None = None,
    source: str = "",
    hashes: Mapping[str, str] | None = None,
    checkpoint: str | None = None,
) -> ModelRef:
    """Describe a GGUF file or a Hugging Face folder.

    `tokenizer` defaults to the `tokenizer.json` beside the weights, if there is one. `hashes` are the sha256 of files
    by name where they are known already; others are remembered in the folder `memory`, and so is the digest of the
    checkpoint. `checkpoint` is that digest where the weights are quantised and their recipe tells what from.

    Raises:
        InputError: neither of the two formats, or facts missing from its metadata.
    """
    folder = path if path.is_dir() else path.parent
    facts = hf_facts(path) if path.is_dir() else _gguf_facts(path)
    notes = [source or f"local {'folder' if path.is_dir() else 'file'} {path.name}", *facts.pop("notes", ())]
    is_quantised = facts.pop("is_quantised", False)
    weights_sha256 = weights_sha256_of(path, memory=memory, hashes=hashes)
    origin = remembered_provenance(path, weights_sha256=weights_sha256, folder=memory)
    is_derived = origin.is_derived or is_quantised
    digest = origin.checkpoint_digest or (checkpoint if is_derived else None)
    beside = folder / TOKENIZER_FILE
    found = tokenizer or (beside if beside.is_file() else None)
    return ModelRef(
        name=name,
        path=path.resolve(),
        tokenizer_path=found.resolve() if found else None,
        weights_sha256=weights_sha256,
        source="; ".join(notes) + (f" (checkpoint not known: {origin.reason})" if digest is None else ""),
        checkpoint_digest=digest,
        is_derived=is_derived,
        **facts,
    )


def weights_sha256_of(path: Path, *, memory: Path, hashes: Mapping[str, str] | None = None) -> str:
    """Hash the weights of a GGUF file or a folder; `hashes` and `memory` as in `describe`."""
    known = hashes or {}
    return combined({one.name: known.get(one.name) or remembered_sha256(one, folder=memory) for one in _weights(path)})


def _weights(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    for pattern in WEIGHTS:
        found = sorted(path.glob(pattern))
        if found:
            return found
    raise InputError(f"{path}: has a config.json but no weights ({' or '.join(WEIGHTS)})")


def _gguf_facts(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: no such file or folder; expected a GGUF file or a Hugging Face folder")
    metadata = read_metadata(path)
    architecture = metadata.get("general.architecture")
    file_type = metadata.get("general.file_type")
    precision = FILE_TYPES.get(file_type, f"file type {file_type}") if isinstance(file_type, int) else "unknown"
    heads = whole(path, metadata, f"{architecture}.attention.head_count")
    return {
        "format": "gguf",
        "variant": precision,
        "weights_precision": precision,
        "context_tokens": whole(path, metadata, f"{architecture}.context_length"),
        "num_layers": whole(path, metadata, f"{architecture}.block_count"),
        "num_heads": heads,
        "num_kv_heads": whole(path, metadata, f"{architecture}.attention.head_count_kv", default=heads),
        "hidden_size": whole(path, metadata, f"{architecture}.embedding_length"),
        "vocab_size": _vocabulary(path, metadata, f"{architecture}.vocab_size"),
    }


def _vocabulary(path: Path, metadata: dict[str, Scalar | ArrayLength], key: str) -> int:
    tokens = metadata.get("tokenizer.ggml.tokens")
    return whole(path, metadata, key, default=tokens.length if isinstance(tokens, ArrayLength) else None)
