"""Tensors as they lie in a file, and their values as bits of BF16. Knows no file format and no model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PLAIN = {"BF16": "<u2", "F16": "<f2", "F32": "<f4"}  # BF16 by its bits: numpy has no such type
NAN_ABOVE, QUIET = 0x7F80_0000, 0x0040


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies: `shape` with the rows first, `dtype` as in safetensors or in other words if quantised."""

    file: Path
    offset_bytes: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_plain(self) -> bool:
        """Say whether every value is stored by itself as a floating-point number."""
        return self.dtype in PLAIN

    def read(self) -> NDArray[Any]:
        """Map the values into memory; BF16 as the bits of `bf16_bits`.

        Raises:
            ValueError: the file ends before the tensor does.
        """
        return np.memmap(self.file, PLAIN[self.dtype], mode="r", offset=self.offset_bytes, shape=self.shape)


class Rounded(NamedTuple):
    """Values as bits of BF16; `is_exact` where rounding changed none."""

    bits: NDArray[np.uint16]
    is_exact: bool


def bf16_bits(values: NDArray[Any]) -> Rounded:
    """Round floating-point values to BF16, to nearest with ties to even; bits of BF16 are passed through."""
    if values.dtype == np.uint16:
        return Rounded(values, is_exact=True)
    words = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    is_nan = (words & 0x7FFF_FFFF) > NAN_ABOVE
    nearest = (words + 0x7FFF + ((words >> 16) & 1)) >> 16
    bits = np.where(is_nan, (words >> 16) | QUIET, nearest).astype("<u2")
    return Rounded(bits, is_exact=not (words & 0xFFFF).any())


def float32_of(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Widen bits of BF16 to float32."""
    return (bits.astype("<u4") << 16).view("<f4")
