"""A text file as blocks of whole lines, so that a file of any size passes through a few megabytes.

Blocks are cut at line ends, never inside a quoted CSV field. What a line means is the formats' business.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workloads.readers.format import Progress
from workloads.readers.unpacking import open_raw
from workloads.trace import TraceError

BLOCK_BYTES = 1 << 21  # larger ones leave the processor's caches, and each allocation its pages
MAX_LINE_BYTES = 1 << 28
BOM = b"\xef\xbb\xbf"
NEWLINE = ord("\n")


class LineBlock(NamedTuple):
    """Whole lines and the number of the first of them in the file, counted from 1."""

    data: bytes
    first_line: int


def read_line_blocks(
    path: Path, *, progress: Progress | None = None, has_quotes: bool = False, block_bytes: int = BLOCK_BYTES
) -> Iterator[LineBlock]:
    """Yield a file's lines in blocks of about `block_bytes`; unpacks, and tells `progress` bytes of the packed file.

    Raises:
        TraceError: the file cannot be read, or one line (with `has_quotes`, one quoted field) never ends.
    """
    size = path.stat().st_size
    first_line, rest = 1, b""
    with open_raw(path) as file:
        while data := file.read_block(block_bytes):
            if file.is_at_start:
                data = data.removeprefix(BOM)
            end = _last_line_end(data, rest.count(b'"') if has_quotes else None)
            if end:
                whole, rest = b"".join((rest, memoryview(data)[:end])), data[end:]
                yield LineBlock(whole, first_line)
                first_line += count_lines(whole)
            else:
                rest += data
            if len(rest) > MAX_LINE_BYTES:
                raise _endless(path, first_line)
            if progress is not None:
                progress(file.packed_bytes_read, size)
    if rest:
        yield LineBlock(rest, first_line)


def count_lines(data: bytes) -> int:
    """Return the number of line ends; `bytes.count` would take several times as long for many of them."""
    return int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == NEWLINE))


def _last_line_end(data: bytes, num_quotes_before: int | None) -> int:
    """Return where the last whole line ends, 0 where none does.

    Where quotes count, a line end after an odd number of them, also counting those before `data`, lies inside a field.
    """
    end = data.rfind(b"\n") + 1
    if num_quotes_before is None:
        return end
    is_inside = (num_quotes_before + data.count(b'"', 0, end)) % 2
    while is_inside and end:
        earlier = data.rfind(b"\n", 0, end - 1) + 1
        is_inside ^= data.count(b'"', earlier, end) % 2
        end = earlier
    return end


def _endless(path: Path, line: int) -> TraceError:
    return TraceError(
        f"a line of more than {MAX_LINE_BYTES >> 20} MiB begins here",
        path=path,
        row=line,
        advice="Is a quote left open, or is this no file of lines? Correct or remove the line",
    )
