"""Describes weights on disk as a `ModelRef`: format, precision, shape, tokenizer, hash, checkpoint. Runs no model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.protocol import ModelRef
from orchestrator.domain.errors import InputError
from orchestrator.models.gguf_header import ArrayLength, Scalar, read_metadata
from orchestrator.models.hashing import combined, remembered_sha256
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
    facts = _hf_facts(path) if path.is_dir() else _gguf_facts(path)
    known = hashes or {}
    weights = {one.name: known.get(one.name) or remembered_sha256(one, folder=memory) for one in _weights(path)}
    weights_sha256 = combined(weights)
    origin = remembered_provenance(path, weights_sha256=weights_sha256, folder=memory)
    digest = origin.checkpoint_digest or (checkpoint if origin.is_derived else None)
    beside = folder / TOKENIZER_FILE
    found = tokenizer or (beside if beside.is_file() else None)
    return ModelRef(
        name=name,
        path=path.resolve(),
        tokenizer_path=found.resolve() if found else None,
        weights_sha256=weights_sha256,
        source=(source or f"local {'folder' if path.is_dir() else 'file'} {path.name}")
        + (f" (checkpoint not known: {origin.reason})" if digest is None else ""),
        checkpoint_digest=digest,
        is_derived=origin.is_derived,
        **facts,
    )


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
    heads = _whole(path, metadata, f"{architecture}.attention.head_count")
    return {
        "format": "gguf",
        "variant": precision,
        "weights_precision": precision,
        "context_tokens": _whole(path, metadata, f"{architecture}.context_length"),
        "num_layers": _whole(path, metadata, f"{architecture}.block_count"),
        "num_heads": heads,
        "num_kv_heads": _whole(path, metadata, f"{architecture}.attention.head_count_kv", default=heads),
        "hidden_size": _whole(path, metadata, f"{architecture}.embedding_length"),
        "vocab_size": _vocabulary(path, metadata, f"{architecture}.vocab_size"),
    }


def _vocabulary(path: Path, metadata: dict[str, Scalar | ArrayLength], key: str) -> int:
    tokens = metadata.get("tokenizer.ggml.tokens")
    return _whole(path, metadata, key, default=tokens.length if isinstance(tokens, ArrayLength) else None)


def _whole(path: Path, facts: dict[str, Any], key: str, default: int | None = None) -> int:
    value = facts.get(key, default)
    if not isinstance(value, int):
        raise InputError(f"{path}: {key} is {value!r}, expected a whole number")
    return value


def _hf_facts(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no config.json; expected a Hugging Face folder or the path of a GGUF file"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from error
    text = config.get("text_config", config)  # a model for several media keeps its language part there
    precision = str(text.get("dtype") or text.get("torch_dtype") or config.get("dtype") or "unknown")
    precision = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}.get(precision, precision)
    heads = _whole(file, text, "num_attention_heads")
    return {
        "format": "hf",
        "variant": f"{precision}-hf",
        "weights_precision": config.get("quantization_config", {}).get("quant_method", precision),
        "context_tokens": _whole(file, text, "max_position_embeddings"),
        "num_layers": _whole(file, text, "num_hidden_layers"),
        "num_heads": heads,
        "num_kv_heads": _whole(file, text, "num_key_value_heads", default=heads),
        "hidden_size": _whole(file, text, "hidden_size"),
        "vocab_size": _whole(file, text, "vocab_size"),
    }
