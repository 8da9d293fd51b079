from pathlib import Path

import pytest

from adapters.protocol import Hardware, ModelRef


@pytest.fixture
def model() -> ModelRef:
    return ModelRef(
        name="smollm2-135m",
        variant="q8_0",
        format="gguf",
        path=Path("models/q8_0.gguf"),
        tokenizer_path=None,
        weights_precision="q8_0",
        weights_sha256="0" * 64,
        source="made up",
        context_tokens=8192,
        num_layers=30,
        num_heads=9,
        num_kv_heads=3,
        hidden_size=576,
        vocab_size=49152,
    )


@pytest.fixture
def hardware() -> Hardware:
    return Hardware(cpu_count=2, memory_bytes=1 << 34)
