"""Block hit ratios of least-recently-used caches of all sizes, from one pass over the blocks."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.mixing import mix_words
from workloads.profile.reuse.distances import stack_distances
from workloads.profile.reuse.hits import previous_positions
from workloads.profile.reuse.model import LruPoint

NAMED_CAPACITIES_TOKENS = (500_000, 5_000_000, 15_000_000, 51_000_000)
FIRST_DECADE, LAST_DECADE = 4, 10  # 10 thousand tokens to 50 billion, in steps of 1, 2, 5
MAX_EXACT_BLOCKS = 8_000_000
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # so that id 0 is mixed as well


class LruCurve(NamedTuple):
    """Points of the curve; `sampled_ratio` is the share of distinct blocks it was measured on, None for all."""

    points: tuple[LruPoint, ...]
    sampled_ratio: float | None


def measure_lru(blocks: BlockIds, block_tokens: int, *, max_blocks: int = MAX_EXACT_BLOCKS) -> LruCurve:
    """Measure hit ratios, a request's hits ending at its first miss, as `hits.lru_hit_ratio` defines them.

    Above `max_blocks` blocks only ids whose hash falls below a bound are followed and their distances scaled up; what
    the sample has too few or too many is booked as hits at distance 0 (SHARDS, Waldspurger et al., FAST 2015).
    """
    ratio = min(1.0, max_blocks / blocks.values.size)
    sample = blocks if ratio == 1 else _sample(blocks, ratio)
    previous = previous_positions(sample.values)
    reached = _reach(sample, stack_distances(previous))
    finite = np.sort(reached[reached <= sample.values.size])
    capacities = _capacities(int(np.count_nonzero(previous < 0) / ratio) * block_tokens)
    limits = [(max(1, tokens // block_tokens) - 1) * ratio + 1 for tokens in capacities]
    expected = blocks.values.size * ratio
    hits = np.searchsorted(finite, limits, side="right") + expected - sample.values.size
    ratios = np.clip(hits / expected, 0, 1)
    points = tuple(
        LruPoint(capacity_tokens=tokens, block_hit_ratio=float(hit))
        for tokens, hit in zip(capacities, ratios, strict=True)
    )
    return LruCurve(points, None if ratio == 1 else ratio)


def _reach(blocks: BlockIds, distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest distance from each request's first block up to each block: the cache that reuses it."""
    base = np.repeat(np.arange(len(blocks), dtype=np.int64) * (distances.size + 2), blocks.counts)
    return np.maximum.accumulate(base + distances) - base


def _capacities(distinct_tokens: int) -> tuple[int, ...]:
    steps = [digit * 10**decade for decade in range(FIRST_DECADE, LAST_DECADE + 1) for digit in (1, 2, 5)]
    beyond = next((step for step in steps if step >= distinct_tokens), steps[-1])
    return tuple(sorted({*NAMED_CAPACITIES_TOKENS, *(step for step in steps if step <= beyond)}))


def _sample(blocks: BlockIds, ratio: float) -> BlockIds:
    is_followed = mix_words(blocks.values.astype(np.uint64) + GOLDEN) < np.uint64(int(ratio * (2**64 - 1)))
    counts = np.diff(np.concatenate([[0], np.cumsum(is_followed)])[blocks.offsets])
    return make_blocks(offsets_of(counts), blocks.values[is_followed])
