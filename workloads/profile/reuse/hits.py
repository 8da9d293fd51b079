"""Reuse of prompt blocks as it is defined: a block seen before, and a block found in a cache of one size.

`lru_hit_ratio` replays one cache block by block; `workloads.profile.reuse.lru` gives all sizes at once and agrees.
"""

from collections import OrderedDict
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds


def previous_positions(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each block the place where its id stood last, -1 where it stands for the first time."""
    order = np.argsort(ids, kind="stable")
    is_repeat = ids[order[1:]] == ids[order[:-1]]
    previous = np.full(ids.size, -1, dtype=np.int64)
    previous[order[1:][is_repeat]] = order[:-1][is_repeat]
    return previous


def lru_hit_ratio(blocks: BlockIds, capacity_blocks: int) -> float:
    """Return the share of blocks found in a cache of that many blocks, a request's hits ending at its first miss."""
    cache: OrderedDict[int, None] = OrderedDict()
    values, offsets = blocks.values.tolist(), blocks.offsets.tolist()
    num_hits = 0
    for start, end in pairwise(offsets):
        num_hits += _touch(cache, values[start:end], capacity_blocks)
    return num_hits / len(values)


def _touch(cache: OrderedDict[int, None], ids: list[int], capacity_blocks: int) -> int:
    num_hits = 0
    is_prefix_cached = True
    for block in ids:
        is_prefix_cached = is_prefix_cached and block in cache
        num_hits += is_prefix_cached
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > capacity_blocks:
            cache.popitem(last=False)
    return num_hits
