"""Prompt blocks of many requests: one ragged column of ids.

A block id stands for a whole prefix up to and including its block, as in Mooncake's `hash_ids`, so equal ids
mean equal text. This module holds the ids; it never makes tokens of them.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class BlockIds:
    """Ids of request `i`: `values[offsets[i]:offsets[i + 1]]`; both arrays are int64 and read-only."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of blocks of each request."""
        return np.diff(self.offsets)

    def of(self, index: int) -> NDArray[np.int64]:
        """Return the ids of one request, first block first."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def select(self, rows: NDArray[np.int64]) -> "BlockIds":
        """Take whole requests by position, in the order given."""
        return self._gather(rows, self.counts[rows])

    def truncate(self, limits: NDArray[np.int64]) -> "BlockIds":
        """Keep at most `limits[i]` leading blocks of request `i`."""
        return self._gather(np.arange(len(self), dtype=np.int64), np.minimum(self.counts, limits))

    def positions(self) -> NDArray[np.int64]:
        """Return the place of each value in its request, 0 for a first block."""
        return np.arange(len(self.values), dtype=np.int64) - np.repeat(self.offsets[:-1], self.counts)

    def _gather(self, rows: NDArray[np.int64], counts: NDArray[np.int64]) -> "BlockIds":
        offsets = offsets_of(counts)
        shift = np.repeat(self.offsets[rows] - offsets[:-1], counts)
        return make_blocks(offsets, self.values[np.arange(offsets[-1], dtype=np.int64) + shift])


def offsets_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn counts into offsets: one entry more, the first of them 0."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def make_blocks(offsets: NDArray[np.int64], values: NDArray[np.int64]) -> BlockIds:
    """Hold offsets and values as read-only int64 arrays.

    Raises:
        ValueError: the offsets do not cover the values.
    """
    if len(offsets) == 0 or int(offsets[-1]) != len(values):
        raise ValueError(f"offsets must end at the number of values {len(values)}, seen {offsets[-1:]}")
    return BlockIds(freeze(offsets.astype(np.int64)), freeze(values.astype(np.int64)))


def freeze(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only copy of the array."""
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen
