"""Reads the metadata of a GGUF file: scalars and the lengths of arrays. Reads no tensor.

The `gguf` package takes seconds for a large vocabulary, and only the extra `models` brings it.
Source: the GGUF specification, version 3 (version 2 has the same layout).
"""

import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from orchestrator.domain.errors import InputError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
MAX_STRING_BYTES = 1 << 26  # a longer one means that the file is not what it says

Scalar = str | int | float | bool


class ArrayLength(NamedTuple):
    """An array that was skipped."""

    length: int


def read_metadata(path: Path) -> dict[str, Scalar | ArrayLength]:
    """Read a GGUF file's metadata by key.

    Raises:
        InputError: not a GGUF file, of an unknown version, or cut short.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a whole GGUF file: {error}") from error


def _read(file: BinaryIO) -> dict[str, Scalar | ArrayLength]:
    magic = file.read(len(MAGIC))
    if magic != MAGIC:
        raise ValueError(f"begins with {magic!r}, expected {MAGIC!r}")
    version = _scalar(file, "I")
    if version not in VERSIONS:
        raise ValueError(f"version {version}, expected one of {VERSIONS}")
    _num_tensors, num_pairs = _scalar(file, "Q"), _scalar(file, "Q")
    return {_string(file): _value(file, int(_scalar(file, "I"))) for _ in range(int(num_pairs))}


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
