"""Reads a GGUF file's metadata (scalars, lengths of arrays) and where its tensors lie. Reads no tensor.

The `gguf` package takes seconds for a large vocabulary, and only the extra `models` brings it.
Source: the GGUF specification, version 3 (version 2 has the same layout).
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from orchestrator.domain.errors import InputError
from orchestrator.models.tensors import StoredTensor

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
MAX_STRING_BYTES = 1 << 26  # a longer one means that the file is not what it says
MAX_DIMENSIONS = 4
ALIGNMENT_BYTES = 32
PLAIN_TYPES = {0: "F32", 1: "F16", 30: "BF16"}  # ggml_type; the others are quantised, or no weights

Found = TypeVar("Found")

Scalar = str | int | float | bool


class ArrayLength(NamedTuple):
    """An array that was skipped."""

    length: int


class Header(NamedTuple):
    """What stands before the tensors."""

    metadata: dict[str, Scalar | ArrayLength]
    tensors: dict[str, StoredTensor]


def read_metadata(path: Path) -> dict[str, Scalar | ArrayLength]:
    """Read a GGUF file's metadata by key.

    Raises:
        InputError: not a GGUF file, of an unknown version, or cut short.
    """
    return _opened(path, lambda file: _read(file)[0])


def read_header(path: Path) -> Header:
    """Read a GGUF file's metadata and where its tensors lie, by name.

    Raises:
        InputError: not a GGUF file, of an unknown version, or cut short.
    """
    return _opened(path, lambda file: _read_all(file, path))


def _opened(path: Path, read: Callable[[BinaryIO], Found]) -> Found:
    try:
        with path.open("rb") as file:
            return read(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a whole GGUF file: {error}") from error


def _read(file: BinaryIO) -> tuple[dict[str, Scalar | ArrayLength], int]:
    magic = file.read(len(MAGIC))
    if magic != MAGIC:
        raise ValueError(f"begins with {magic!r}, expected {MAGIC!r}")
    version = _scalar(file, "I")
    if version not in VERSIONS:
        raise ValueError(f"version {version}, expected one of {VERSIONS}")
    num_tensors, num_pairs = int(_scalar(file, "Q")), int(_scalar(file, "Q"))
    return {_string(file): _value(file, int(_scalar(file, "I"))) for _ in range(num_pairs)}, num_tensors


def _read_all(file: BinaryIO, path: Path) -> Header:
    metadata, num_tensors = _read(file)
    places = [_place(file) for _ in range(num_tensors)]
    alignment = metadata.get("general.alignment", ALIGNMENT_BYTES)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"general.alignment is {alignment!r}")
    start = -(-file.tell() // alignment) * alignment
    tensors = {name: StoredTensor(path, start + offset, shape, dtype) for name, shape, dtype, offset in places}
    return Header(metadata, tensors)


def _place(file: BinaryIO) -> tuple[str, tuple[int, ...], str, int]:
    name, num_dimensions = _string(file), int(_scalar(file, "I"))
    if num_dimensions > MAX_DIMENSIONS:
        raise ValueError(f"{name} has {num_dimensions} dimensions")
    shape = tuple(int(_scalar(file, "Q")) for _ in range(num_dimensions))[::-1]  # a GGUF has the columns first
    kind, offset = int(_scalar(file, "I")), int(_scalar(file, "Q"))
    return name, shape, PLAIN_TYPES.get(kind, f"GGML type {kind}"), offset


def _scalar(file: BinaryIO, code: str) -> int | float | bool:
    kind = struct.Struct(f"<{code}")
    value: int | float | bool = kind.unpack(file.read(kind.size))[0]
    return value


def _string(file: BinaryIO) -> str:
    length = int(_scalar(file, "Q"))
    if length > MAX_STRING_BYTES:
        raise ValueError(f"a string of {length} bytes")
    data = file.read(length)
    if len(data) < length:
        raise ValueError("ends inside a string")
    return data.decode("utf-8", errors="replace")


def _value(file: BinaryIO, kind: int) -> Scalar | ArrayLength:
    if kind == STRING:
        return _string(file)
    if kind == ARRAY:
        return _skip_array(file)
    if kind not in SCALARS:
        raise ValueError(f"value type {kind}")
    return _scalar(file, SCALARS[kind])


def _skip_array(file: BinaryIO) -> ArrayLength:
    kind, length = int(_scalar(file, "I")), int(_scalar(file, "Q"))
    if kind in SCALARS:
        file.seek(length * struct.calcsize(f"<{SCALARS[kind]}"), 1)
        return ArrayLength(length)
    for _ in range(length):
        _value(file, kind)
    return ArrayLength(length)
