"""Reuse of prompt blocks: with an infinite cache, and with least-recently-used caches of a few sizes.

Ids are chained, so a block that is present has its whole prefix present, unless an eviction broke the chain.
"""

from collections import OrderedDict
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds
from workloads.profile.model import LruPoint, Prefix

LRU_CAPACITIES_TOKENS = (500_000, 5_000_000, 15_000_000, 51_000_000)
MAX_BLOCKS_FOR_LRU = 2_000_000


def profile_prefixes(blocks: BlockIds, input_tokens: NDArray[np.int32], block_tokens: int) -> Prefix | None:
    """Measure reuse over requests in order of arrival; None where no request has a block."""
    if blocks.values.size == 0:
        return None
    is_reused = mark_reused(blocks.values)
    positions = blocks.positions()
    sizes = np.minimum(np.repeat(input_tokens, blocks.counts) - positions * block_tokens, block_tokens)
    num_blocks = blocks.values.size
    return Prefix(
        block_tokens=block_tokens,
        num_blocks=num_blocks,
        num_distinct_blocks=int(num_blocks - is_reused.sum()),
        token_reuse_ratio=float(sizes[is_reused].sum() / input_tokens.sum(dtype=np.int64)),
        block_reuse_ratio=float(is_reused.mean()),
        block_reuse_ratio_without_first=float((is_reused & (positions > 0)).mean()),
        lru=_lru_points(blocks, block_tokens),
    )


def mark_reused(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark every block that was seen before, in order of arrival."""
    is_reused = np.ones(ids.size, dtype=np.bool_)
    is_reused[np.unique(ids, return_index=True)[1]] = False
    return is_reused


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


def _lru_points(blocks: BlockIds, block_tokens: int) -> tuple[LruPoint, ...]:
    if blocks.values.size > MAX_BLOCKS_FOR_LRU:
        return ()
    return tuple(
        LruPoint(capacity_tokens=tokens, block_hit_ratio=lru_hit_ratio(blocks, max(1, tokens // block_tokens)))
        for tokens in LRU_CAPACITIES_TOKENS
    )
