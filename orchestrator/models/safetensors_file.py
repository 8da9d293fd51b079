"""Reads where the tensors of a safetensors file lie, and writes such a file in BF16. Needs no package of its own.

Source: the safetensors format (8 bytes of header length, the header as JSON, the tensors one behind another).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.errors import InputError
from orchestrator.models.tensors import StoredTensor

LENGTH_BYTES, ALIGNMENT_BYTES = 8, 8
MAX_HEADER_BYTES = 100_000_000
NOTES = "__metadata__"


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """Read a file's tensors by name.

    Raises:
        InputError: not a safetensors file, or cut short within its header.
    """
    try:
        header, start = _header(path)
        return {
            name: StoredTensor(path, start + int(one["data_offsets"][0]), tuple(map(int, one["shape"])), one["dtype"])
            for name, one in header.items()
            if name != NOTES
        }
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a whole safetensors file: {error}") from error


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Return a file's header and where the tensors begin."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError(f"a header of {length} bytes")
        return json.loads(file.read(length)), LENGTH_BYTES + length


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[np.uint16]]) -> None:
    """Write bits of BF16 by name, the names in order: equal values give equal files."""
    names = sorted(tensors)
    header: dict[str, object] = {NOTES: {"format": "pt"}}
    end = 0
    for name in names:
        start, end = end, end + tensors[name].nbytes
        header[name] = {"dtype": "BF16", "shape": tensors[name].shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT_BYTES)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        for name in names:
            file.write(np.ascontiguousarray(tensors[name]).astype("<u2", copy=False).tobytes())
