"""Trace files as byte streams, whatever they are packed with: plain, gzip or Zstandard, told by their first bytes."""

import io
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from workloads.trace import TraceError

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
PARQUET_MAGIC = b"PAR1"
MAX_MAGIC_BYTES = 4


class Unpacked(io.RawIOBase):
    """A file's content. `packed_bytes_read` says how far into the file itself reading has come."""

    def __init__(self, path: Path, packing: str | None) -> None:
        super().__init__()
        self._path, self._packing, self._num_blocks = path, packing, 0
        self._file = path.open("rb")
        self._stream: Any = self._file if packing is None else pa.CompressedInputStream(self._file, packing)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  # the base class takes any buffer
        """Fill a buffer as far as one read goes; return the number of bytes.

        Raises:
            TraceError: the packed data is damaged or cut off.
        """
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read_block(self, num_bytes: int) -> bytes:
        """Return that many bytes, fewer only at the end.

        Raises:
            TraceError: the packed data is damaged or cut off.
        """
        self._num_blocks += 1
        data = self._read(num_bytes)
        if len(data) == num_bytes or not data:
            return data
        parts, missing = [data], num_bytes - len(data)
        while missing and (data := self._read(missing)):  # unpacking gives less than it is asked
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    @property
    def is_at_start(self) -> bool:
        """Say whether just one block was read."""
        return self._num_blocks == 1

    def _read(self, num_bytes: int) -> bytes:
        try:
            data: bytes = self._stream.read(num_bytes)
        except OSError as error:
            raise TraceError(
                f"binary data that begins like {self._packing} and cannot be unpacked ({error})",
                path=self._path,
                advice="Was the file cut off? Fetch it again, or unpack it first",
            ) from error
        return data

    @property
    def packed_bytes_read(self) -> int:
        """Return the position in the file itself, packed bytes."""
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def open_unpacked(path: Path) -> BinaryIO:
    """Open a file for reading its content from the start; the caller closes it.

    Raises:
        TraceError: the file cannot be opened, or on reading, its packed data is damaged.
    """
    return cast("BinaryIO", io.BufferedReader(open_raw(path)))


def open_raw(path: Path) -> Unpacked:
    """Open a file as `open_unpacked` does, without a buffer, for readers of large blocks."""
    return Unpacked(path, packing_of(path))


def is_plain(path: Path) -> bool:
    """Say whether a file's size is that of its text: it is neither packed nor Parquet.

    Raises:
        TraceError: the file cannot be opened.
    """
    return not _start(path).startswith((*MAGIC, PARQUET_MAGIC))


def packing_of(path: Path) -> str | None:
    """Return what a file is packed with, None for a plain one.

    Raises:
        TraceError: the file cannot be opened.
    """
    start = _start(path)
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_MAGIC_BYTES)
    except OSError as error:
        raise TraceError(
            f"cannot be opened: {error.strerror}", path=path, advice="Check path and permissions"
        ) from error
