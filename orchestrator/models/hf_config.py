"""What a Hugging Face folder says of its weights: shape, precision, how they are quantised, media beside text."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.domain.errors import InputError
from orchestrator.models.facts import whole

PRECISIONS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
QUANTISATIONS = ("quantization_config", "compression_config")  # the second as compressed-tensors first called it
MODELOPT_FILE = "hf_quant_config.json"  # where NVIDIA's ModelOpt says how it quantised, beside a plain config.json
MEDIA = {"vision_config": "images", "audio_config": "audio", "video_config": "video"}


def hf_facts(path: Path) -> dict[str, Any]:
    """Return what a folder's config.json says, by the names of `ModelRef`, with `is_quantised` and `notes` beside.

    Raises:
        InputError: it has none, or facts are missing from it.
    """
    file = path / "config.json"
    config = _read(file)
    if config is None:
        raise InputError(f"{path}: no config.json; expected a Hugging Face folder or the path of a GGUF file")
    text = config.get("text_config") or config  # a model for several media keeps its language part there
    method = _quantisation(path, config, text)
    dtype = str(text.get("dtype") or text.get("torch_dtype") or config.get("dtype") or "unknown")
    precision = method or PRECISIONS.get(dtype, dtype)
    heads = whole(file, text, "num_attention_heads")
    return {
        "format": "hf",
        "variant": f"{precision}-hf",
        "weights_precision": precision,
        "is_quantised": method is not None,
        "notes": tuple(_media(config)),
        "context_tokens": whole(file, text, "max_position_embeddings"),
        "num_layers": whole(file, text, "num_hidden_layers"),
        "num_heads": heads,
        "num_kv_heads": whole(file, text, "num_key_value_heads", default=heads),
        "hidden_size": whole(file, text, "hidden_size"),
        "vocab_size": whole(file, text, "vocab_size"),
    }


def _quantisation(path: Path, config: Mapping[str, Any], text: Mapping[str, Any]) -> str | None:
    """Return the method by which the weights are quantised, such as awq, gptq or fp8, None where they are not."""
    found = next((one[key] for one in (config, text) for key in QUANTISATIONS if isinstance(one.get(key), dict)), None)
    if found is not None:
        return str(found.get("quant_method") or "unknown").lower()
    modelopt = (_read(path / MODELOPT_FILE) or {}).get("quantization")
    algorithm = modelopt.get("quant_algo") if isinstance(modelopt, dict) else None
    return str(algorithm).lower() if algorithm else None


def _media(config: Mapping[str, Any]) -> list[str]:
    media = [what for key, what in MEDIA.items() if config.get(key)]
    return [f"the model also reads {' and '.join(media)}; only text is sent"] if media else []


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{file}: expected a JSON object, seen {type(found).__name__}")
    return found
