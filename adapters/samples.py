"""A model that exists on no disk, for tests of adapters: the shape of SmolLM2-135M in any format."""

from pathlib import Path
from typing import Any

from adapters.protocol import Format, ModelRef

FILES = {"gguf": Path("models/sample.gguf"), "hf": Path("models/sample"), "none": Path("none")}


def sample_model(form: Format = "hf", **changes: Any) -> ModelRef:  # noqa: ANN401 - any field of the reference
    """Return a reference with plausible facts; `changes` replaces fields."""
    facts: dict[str, Any] = {
        "name": "sample",
        "variant": f"bf16-{form}",
        "format": form,
        "path": FILES[form],
        "tokenizer_path": None,
        "weights_precision": "bf16",
        "weights_sha256": "0" * 64,
        "source": "made up",
        "context_tokens": 8192,
        "num_layers": 30,
        "num_heads": 9,
        "num_kv_heads": 3,
        "hidden_size": 576,
        "vocab_size": 49152,
    }
    return ModelRef.model_validate({**facts, **changes})
