"""Stack distances of a stream of blocks: how many distinct blocks lie between two uses of one (Mattson et al. 1970)."""

import numpy as np
from numpy.typing import NDArray


def stack_distances(previous: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many distinct blocks, itself included, were used since each block's last use.

    An LRU cache of that many blocks or more still holds it (Mattson et al., "Evaluation techniques for storage
    hierarchies", IBM Systems Journal 1970). Blocks used for the first time get the number of blocks + 1. Of the blocks
    since the last use at p, those count whose own last use is not after p; all blocks up to p are among those.

    Args:
        previous: where each block stood last, -1 for never.
    """
    is_repeat = previous >= 0
    distances = np.full(previous.size, previous.size + 1, dtype=np.int64)
    last = previous[is_repeat]
    num_new_before = np.cumsum(~is_repeat)[is_repeat]
    distances[is_repeat] = num_new_before + count_smaller_before(_ranks(last, previous.size)) - last
    return distances


def _ranks(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    is_taken = np.zeros(size, dtype=np.bool_)
    is_taken[places] = True
    return (np.cumsum(is_taken) - 1)[places]


def count_smaller_before(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each element of a permutation of 0..n-1 how many smaller ones stand before it.

    Sorts by one bit at a time from the highest, stably, as a wavelet tree does (Grossi et al. 2003): elements with
    equal higher bits stand together in their old order, and an element with the bit set has before it, of those, the
    ones without.
    """
    values, counts = ranks, np.zeros(ranks.size, dtype=np.int64)
    places = np.arange(ranks.size, dtype=np.int64)
    for bit in range(max(ranks.size - 1, 0).bit_length() - 1, -1, -1):
        half = 1 << bit
        is_low = (values & half) == 0
        group = values >> (bit + 1)
        low_before = np.cumsum(is_low) - is_low - group * half
        start = group << (bit + 1)
        targets = np.where(is_low, start + low_before, places + half - low_before)
        counts = _moved(np.where(is_low, counts, counts + low_before), targets)
        values = _moved(values, targets)
    return counts[ranks]


def _moved(array: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int64]:
    moved = np.empty_like(array)
    moved[targets] = array
    return moved
