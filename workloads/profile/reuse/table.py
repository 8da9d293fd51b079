"""The table of a prefix tree: what each request shares with which earlier one, thinned to what a file carries."""

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds
from workloads.model import PrefixTree

MAX_ROWS = 4000
MAX_EXAMINED = 500_000


def fit_tree(blocks: BlockIds, previous: NDArray[np.int64], block_tokens: int) -> PrefixTree | None:
    """Tabulate length, shared blocks and distance of requests in order of arrival; None where nothing is shared.

    Args:
        blocks: ids of the requests' blocks.
        previous: where each block stood last, -1 for never.
        block_tokens: size of a block.
    """
    shared, distances = find_parents(blocks, previous)
    if not shared.any():
        return None
    parents = blocks.counts[np.arange(len(blocks)) - distances]
    rows, weights = _thin(np.stack([blocks.counts, shared, distances, np.where(shared > 0, parents, 0)], axis=1))
    return PrefixTree(
        block_tokens=block_tokens,
        weights=tuple(weights.tolist()),
        distances=tuple(rows[:, 2].tolist()),
        shared_blocks=tuple(rows[:, 1].tolist()),
        input_blocks=tuple(rows[:, 0].tolist()),
        parent_blocks=tuple(rows[:, 3].tolist()),
        num_requests=len(blocks),
    )


def find_parents(blocks: BlockIds, previous: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many leading blocks of each request were seen before, and how many requests back the last of them.

    Both are 0 where a request shares nothing with an earlier one.
    """
    owners = np.repeat(np.arange(len(blocks), dtype=np.int64), blocks.counts)
    misses = np.flatnonzero(previous < 0)
    shared = blocks.counts.copy()
    with_miss, first_misses = np.unique(owners[misses], return_index=True)
    shared[with_miss] = misses[first_misses] - blocks.offsets[with_miss]
    distances = np.zeros(len(blocks), dtype=np.int64)
    sharers = np.flatnonzero(shared)
    distances[sharers] = sharers - owners[previous[blocks.offsets[sharers] + shared[sharers] - 1]]
    return np.where(distances > 0, shared, 0), distances


def _thin(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Merge equal rows; of too many, keep those under MAX_ROWS even steps through them, sorted by length.

    A row's chance is its number of requests times its blocks, the shared ones twice, so the long prompts that decide
    hit ratios are kept; dividing by that size makes up for it (Hansen and Hurwitz, Annals of Mathematical Statistics
    1943).
    """
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_EXAMINED)).astype(np.int64)]
    merged, counts = np.unique(some, axis=0, return_counts=True)
    if len(merged) <= MAX_ROWS:
        return merged, counts / counts.sum()
    sizes = 1 + merged[:, 0] + merged[:, 1]
    edges = np.cumsum(counts * sizes)
    steps = (np.arange(MAX_ROWS) + 0.5) * edges[-1] / MAX_ROWS
    kept, hits = np.unique(np.searchsorted(edges, steps, side="right"), return_counts=True)
    weights = hits / sizes[kept]
    return merged[kept], weights / weights.sum()
