from pathlib import Path

import pytest

from tests.unit.models.tiny_weights import Tensors, draw_llama, write_tiny_gguf


@pytest.fixture
def tiny_gguf(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "tiny.gguf")


@pytest.fixture
def llama() -> Tensors:
    return draw_llama()
