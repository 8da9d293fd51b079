from pathlib import Path

import gguf
import numpy as np
import pytest

from orchestrator.domain.errors import InputError
from orchestrator.models import extra
from orchestrator.models.conversion import write_gguf
from orchestrator.models.describing import describe

KINDS = gguf.GGMLQuantizationType


def values_of(path: Path) -> dict[str, np.ndarray]:
    return {
        tensor.name: gguf.dequantize(tensor.data, tensor.tensor_type).copy() for tensor in gguf.GGUFReader(path).tensors
    }


def rounded_to_bf16(values: np.ndarray) -> np.ndarray:
    """Round to nearest even by integer arithmetic, apart from `gguf`'s own code."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def test_bf16_holds_the_rounded_values_of_the_original(tiny_gguf: Path, tmp_path: Path) -> None:
    write_gguf(tmp_path / "bf16.gguf", tiny_gguf, precision="bf16")
    original, converted = values_of(tiny_gguf), values_of(tmp_path / "bf16.gguf")
    assert list(converted) == list(original)
    for name, values in original.items():
        np.testing.assert_array_equal(converted[name], rounded_to_bf16(values))


def test_q8_0_is_made_from_the_bf16_values(tiny_gguf: Path, tmp_path: Path) -> None:
    write_gguf(tmp_path / "q8_0.gguf", tiny_gguf, precision="q8_0")
    converted = gguf.GGUFReader(tmp_path / "q8_0.gguf")
    original = values_of(tiny_gguf)
    for tensor in converted.tensors:
        rounded = rounded_to_bf16(original[tensor.name])
        if rounded.ndim == 1:
            np.testing.assert_array_equal(tensor.data, rounded)
        else:
            assert tensor.tensor_type == KINDS.Q8_0
            np.testing.assert_array_equal(tensor.data, gguf.quantize(rounded, KINDS.Q8_0))


@pytest.mark.parametrize(
    ("precision", "file_type"), [("bf16", gguf.LlamaFileType.MOSTLY_BF16), ("q8_0", gguf.LlamaFileType.MOSTLY_Q8_0)]
)
def test_metadata_is_copied_and_the_file_type_set(
    tiny_gguf: Path, tmp_path: Path, precision: str, file_type: int
) -> None:
    target = tmp_path / "out.gguf"
    write_gguf(target, tiny_gguf, precision=precision)
    original, converted = (
        {name: (field.types, field.contents()) for name, field in gguf.GGUFReader(path).fields.items()}
        for path in (tiny_gguf, target)
    )
    assert converted.pop("general.file_type")[1] == file_type
    original.pop("general.file_type")
    assert converted == original


def test_a_conversion_is_repeatable(tiny_gguf: Path, tmp_path: Path) -> None:
    for name in ("one.gguf", "two.gguf"):
        write_gguf(tmp_path / name, tiny_gguf, precision="bf16")
    assert (tmp_path / "one.gguf").read_bytes() == (tmp_path / "two.gguf").read_bytes()


def test_what_is_written_is_described_by_what_it_is(tiny_gguf: Path, tmp_path: Path) -> None:
    write_gguf(tmp_path / "out.gguf", tiny_gguf, precision="q8_0")
    assert describe("tiny", tmp_path / "out.gguf", memory=tmp_path).weights_precision == "q8_0"


def test_a_missing_package_says_what_to_install(tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(extra, "import_module", missing)
    with pytest.raises(InputError, match=r"needs gguf: pip install 'seatrial\[models\]'"):
        write_gguf(tiny_gguf.with_name("out.gguf"), tiny_gguf, precision="bf16")
