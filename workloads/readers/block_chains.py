"""Ids of single blocks turned into ids of whole prefixes."""

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.mixing import mix_words


def chain_ids(lists: pl.Series) -> pl.Series:
    """Chain a column of id lists: two requests then share an id where they share every block up to it.

    Ids that are chained already stay equal and different as they were. Two prefixes get one id by chance only, about
    once in 2^64 pairs.
    """
    lengths = lists.list.len().to_numpy().astype(np.int64)
    values = lists.filter(lists.list.len() > 0).explode().to_numpy()
    blocks = make_blocks(offsets_of(lengths), values)
    chained = pa.LargeListArray.from_arrays(pa.array(blocks.offsets), pa.array(_chained(blocks).view(np.int64)))
    return pl.Series(lists.name, chained)


def _chained(blocks: BlockIds) -> NDArray[np.uint64]:
    """Mix each id with what came before it, for all requests at once, place by place."""
    ids = blocks.values.astype(np.uint64)
    chained = np.empty_like(ids)
    longest_first = np.argsort(-blocks.counts, kind="stable")
    counts = blocks.counts[longest_first]
    starts = blocks.offsets[:-1][longest_first]
    before = np.zeros(len(starts), dtype=np.uint64)
    for place in range(int(counts[0]) if counts.size else 0):
        num_left = int(np.searchsorted(-counts, -place))
        at = starts[:num_left] + place
        before = mix_words(before[:num_left] + mix_words(ids[at] + np.uint64(1)))
        chained[at] = before
    return chained
