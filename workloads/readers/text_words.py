"""Short texts as rows of bytes and as machine words, so that one instruction looks at eight characters.

Digits are summed as in Lemire's parser of eight digits (fast_float, 2021).
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

WIDTH = 40
WORD = 8
ZEROS, SIXES, HIGH, LOW = (np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0x06, 0xF0, 0x0F))
STEPS = (
    (0xFFFFFFFFFFFFFFFF, 10 * (1 << 8) + 1, 8),
    (0x00FF00FF00FF00FF, 100 * (1 << 16) + 1, 16),
    (0x0000FFFF0000FFFF, 10_000 * (1 << 32) + 1, 32),
)


def as_rows(texts: pl.Series) -> tuple[Bytes, Longs]:
    """Lay texts out as rows of `WIDTH` bytes, and return lengths, at most `WIDTH`; nulls have length 0.

    What follows a text in its row is some other text's.
    """
    array = texts.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.zeros(0, dtype=np.uint8)
    padded = np.concatenate([data, np.zeros(WIDTH, dtype=np.uint8)])
    rows = windows_of(padded, WIDTH)[offsets[:-1]].view(np.uint8).reshape(len(array), WIDTH)
    return rows, np.minimum(np.diff(offsets), WIDTH)


def windows_of(data: Bytes, width: int) -> NDArray[np.void]:
    """View bytes as overlapping items of `width`, one beginning at each place; picking many of them is fast."""
    return np.ndarray((len(data) - width + 1,), dtype=f"V{width}", buffer=data.data, strides=(1,))


def word_at(rows: Bytes, start: int) -> Words:
    """Return the eight characters from `start` on of each row, the first of them in the lowest byte."""
    if not len(rows):
        return np.zeros(0, dtype=np.uint64)
    return np.ndarray((len(rows),), dtype="<u8", buffer=rows.data, offset=start, strides=(WIDTH,)).copy()


def digits_of(words: Words, count: int) -> tuple[Longs, Flags]:
    """Return the number that the first `count` (1 to 8) characters of words spell, and whether all are digits."""
    unused = np.uint64(8 * (WORD - count))
    return _number((words << unused) | (ZEROS & np.uint64((1 << int(unused)) - 1)))


def _number(digits: Words) -> tuple[Longs, Flags]:
    """Return the number of words of eight digits each; works in place."""
    is_number = ((digits & HIGH) == ZEROS) & (((digits + SIXES) & HIGH) == ZEROS)
    digits &= LOW
    for mask, factor, shift in STEPS:
        digits &= np.uint64(mask)
        digits *= np.uint64(factor)
        digits >>= np.uint64(shift)
    return digits.view(np.int64), is_number


def ends_with(rows: Bytes, end: int, ending: bytes) -> Flags:
    """Say which rows have `ending` (1 to 8 characters) before place `end`, which is at least 8."""
    unused = np.uint64(8 * (WORD - len(ending)))
    is_equal: Flags = word_at(rows, end - WORD) >> unused == np.uint64(int.from_bytes(ending, "little"))
    return is_equal
