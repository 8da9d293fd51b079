"""Blocks of a CSV file whose lines are all alike: no quotes, no empty lines, each field where it should be.

Found with a few passes over the bytes; a block that is not plain is left to the reader that checks it line by line.
"""

from typing import NamedTuple

import numpy as np

from workloads.readers.text_words import HEAD_PAD, WIDTH, WORD, Bytes, Longs, right_aligned_digits, windows_of

NEWLINE, RETURN = ord("\n"), ord("\r")


class PlainFields(NamedTuple):
    """Where in `data` (padded on both sides) each field begins and ends, both of shape (rows, columns)."""

    data: Bytes
    starts: Longs
    ends: Longs


def split_plain(block: bytes, width: int, separator: str = ",") -> PlainFields | None:
    """Split a block of whole lines into fields; None where it is not plain."""
    if b'"' in block or not block:
        return None
    tail = b"" if block.endswith(b"\n") else b"\n"
    data = np.frombuffer(b"".join((bytes(HEAD_PAD), block, tail, bytes(WIDTH))), dtype=np.uint8)
    is_line_end = data == NEWLINE
    breaks = np.flatnonzero(is_line_end | (data == ord(separator)))
    if len(breaks) != np.count_nonzero(is_line_end) * width or not (data[breaks[width - 1 :: width]] == NEWLINE).all():
        return None  # as many lines as rows, and each row's last break ends one: the other breaks are separators
    ends = breaks.reshape(-1, width)
    starts = np.empty_like(ends)
    starts.ravel()[0] = HEAD_PAD
    starts.ravel()[1:] = breaks[:-1] + 1
    ends[:, -1] -= data[ends[:, -1] - 1] == RETURN
    return PlainFields(data, starts, ends)


def whole_numbers(fields: PlainFields, column: int) -> Longs | None:
    """Return a column of whole numbers of one to eight digits; None where a field is anything else."""
    starts, ends = fields.starts[:, column], fields.ends[:, column]
    lengths = ends - starts
    if lengths.min() < 1 or lengths.max() > WORD:
        return None
    words = windows_of(fields.data, WORD)[ends - WORD].view("<u8")
    numbers, is_number = right_aligned_digits(words, lengths)
    return numbers if is_number.all() else None


def short_texts(fields: PlainFields, column: int) -> tuple[Bytes, Longs]:
    """Return a column as rows of `WIDTH` bytes and lengths, at most `WIDTH`, as `text_words.as_rows` does."""
    starts = fields.starts[:, column]
    lengths = np.minimum(fields.ends[:, column] - starts, WIDTH)
    return windows_of(fields.data, WIDTH)[starts].view(np.uint8).reshape(len(starts), WIDTH), lengths
