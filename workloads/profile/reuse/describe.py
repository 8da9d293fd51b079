"""What prompts share, measured on the trace's own block ids.

Ids are chained, so a block that is present has its whole prefix present, unless an eviction broke the chain.
"""

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds
from workloads.profile.reuse.hits import previous_positions
from workloads.profile.reuse.lru import measure_lru
from workloads.profile.reuse.model import Prefix
from workloads.profile.reuse.table import fit_tree
from workloads.trace import NS_PER_S, Trace


def describe_prefixes(trace: Trace) -> Prefix | None:
    """Measure reuse over requests in order of arrival; None where the trace has no block ids."""
    blocks, block_tokens = trace.block_ids, trace.facts.block_tokens
    if blocks is None or block_tokens is None or blocks.values.size == 0 or not trace.input_tokens.any():
        return None
    previous = previous_positions(blocks.values)
    is_reused = previous >= 0
    p50_s, p90_s = _intervals_s(blocks, previous, trace.arrival_ns)
    curve = measure_lru(blocks, block_tokens)
    return Prefix(
        block_tokens=block_tokens,
        num_blocks=is_reused.size,
        num_distinct_blocks=int(np.count_nonzero(~is_reused)),
        token_reuse_ratio=_token_reuse(blocks, is_reused, trace.input_tokens, block_tokens=block_tokens),
        block_reuse_ratio=float(is_reused.mean()),
        block_reuse_ratio_without_first=float((is_reused & (blocks.positions() > 0)).mean()),
        shared_first_block_ratio=_shared_first(blocks),
        reuse_interval_p50_s=p50_s,
        reuse_interval_p90_s=p90_s,
        lru=curve.points,
        lru_sampled_ratio=curve.sampled_ratio,
        tree=fit_tree(blocks, previous, block_tokens),
    )


def _token_reuse(
    blocks: BlockIds, is_reused: NDArray[np.bool_], input_tokens: NDArray[np.int32], *, block_tokens: int
) -> float:
    """Return reused over all input tokens; a prompt's last block holds what is left of it."""
    left = np.repeat(input_tokens.astype(np.int64), blocks.counts) - blocks.positions() * block_tokens
    sizes = np.clip(left, 0, block_tokens)
    return float(sizes[is_reused].sum() / input_tokens.sum(dtype=np.int64))


def _shared_first(blocks: BlockIds) -> float:
    """Return the share of requests, of those with blocks, whose first block another request begins with."""
    first = blocks.values[blocks.offsets[:-1][blocks.counts > 0]]
    _, counts = np.unique(first, return_counts=True)
    return float(counts[counts > 1].sum() / first.size)


def _intervals_s(
    blocks: BlockIds, previous: NDArray[np.int64], arrival_ns: NDArray[np.int64]
) -> tuple[float | None, float | None]:
    """Return median and 90th percentile of the time since a block was last asked, first blocks left out."""
    at_ns = np.repeat(arrival_ns, blocks.counts)
    places = np.flatnonzero((previous >= 0) & (blocks.positions() > 0))
    if places.size == 0:
        return None, None
    p50_ns, p90_ns = np.percentile(at_ns[places] - at_ns[previous[places]], [50, 90])
    return float(p50_ns / NS_PER_S), float(p90_ns / NS_PER_S)
