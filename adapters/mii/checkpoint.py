"""What MII cannot serve, read from a checkpoint's own files. Loads no weights.

The rules are those of DeepSpeed's inference engine, version 2 (deepspeed/inference/v2: `build_hf_engine`,
`rope_theta`, the containers' parameter mappings).
"""

import json
from pathlib import Path
from typing import Any

MODEL_TYPES = (
    "exaone4",
    "exaone4_5",
    "falcon",
    "llama",
    "mistral",
    "mixtral",
    "opt",
    "phi",
    "phi3",
    "qwen",
    "qwen2",
    "qwen2_moe",
)
TIES_ITSELF = ("opt", "qwen2")
UNSCALED = (None, "default")
HEADER_LENGTH_BYTES = 8


def refusal(path: Path) -> str | None:
    """Say why the engine would refuse the checkpoint, None where it would not or where there is none to read."""
    config = _read_object(path / "config.json")
    if not config:
        return None
    kind = config.get("model_type")
    if kind not in MODEL_TYPES:
        return f"a model type that DeepSpeed's inference engine knows ({', '.join(MODEL_TYPES)}); this is {kind}"
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    scaling = rope.get("rope_type", rope.get("type"))
    if scaling not in UNSCALED:
        return f"rotary positions without scaling; this checkpoint asks for {scaling!r}"
    if config.get("tie_word_embeddings") and kind not in TIES_ITSELF and "lm_head.weight" not in _tensor_names(path):
        return f"a checkpoint with its own lm_head.weight: the engine does not tie the embeddings of {kind}"
    return None


def _read_object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _tensor_names(path: Path) -> frozenset[str]:
    index = _read_object(path / "model.safetensors.index.json").get("weight_map")
    if isinstance(index, dict):
        return frozenset(index)
    try:
        with (path / "model.safetensors").open("rb") as file:
            length = int.from_bytes(file.read(HEADER_LENGTH_BYTES), "little")
            return frozenset(json.loads(file.read(length)))
    except (OSError, ValueError, OverflowError):
        return frozenset()
