import pytest

from adapters.protocol import Hardware, ModelRef
from adapters.samples import sample_model


@pytest.fixture
def model() -> ModelRef:
    return sample_model("hf")


@pytest.fixture
def hardware() -> Hardware:
    return Hardware(
        cpu_count=16, memory_bytes=1 << 36, gpu_names=("A100",) * 4, gpu_memory_bytes=(40 << 30,) * 3 + (8 << 30,)
    )
