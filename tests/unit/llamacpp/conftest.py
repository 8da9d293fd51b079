import pytest

from adapters.protocol import Hardware, ModelRef
from adapters.samples import sample_model


@pytest.fixture
def model() -> ModelRef:
    return sample_model("gguf", weights_precision="q8_0")


@pytest.fixture
def hardware() -> Hardware:
    return Hardware(cpu_count=2, memory_bytes=1 << 34)
