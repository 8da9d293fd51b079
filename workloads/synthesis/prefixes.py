"""Prompt blocks with the sharing of a measured prefix tree.

A request takes a row of the table that fits its length. It begins as an earlier request does that lies about as many
requests back, is about as long as the row's, and used those blocks last; so blocks come back after as many requests as
in the trace, and caches of every size hit as often.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.model import PrefixTree
from workloads.streams import uniforms
from workloads.synthesis.prefix_rows import PrefixRows, draw_rows

SIZE_STEP = 1.05  # parents are looked for among prompts this near in length
MAX_PROBES = 64  # candidates looked at before a search is given up
WINDOW = 0.5  # of the distance: how far from it a parent of the right length may lie


def draw_prefixes(
    tree: PrefixTree, input_tokens: NDArray[np.int32], *, seed: int, share_factor: float = 1.0
) -> BlockIds:
    """Give each request the ids of its ceil(input_tokens / block_tokens) prompt blocks.

    A longer draw begins with the shorter one. A request that finds no earlier one to share with shares nothing.

    Args:
        tree: the measured table.
        input_tokens: prompt lengths in order of arrival, tokens.
        seed: of the draws.
        share_factor: share, 0 to 1, of the sharing requests that still share; 0 makes every block new.

    Raises:
        ValueError: the share factor is outside 0 to 1.
    """
    if not 0 <= share_factor <= 1:
        raise ValueError(
            f"expected a prefix share factor from 0 to 1, seen {share_factor}; 1 keeps the measured sharing"
        )
    counts = -(-input_tokens.astype(np.int64) // tree.block_tokens)
    offsets = offsets_of(counts)
    values = np.arange(offsets[-1], dtype=np.int64)
    if share_factor > 0 and values.size > 0:
        rows = draw_rows(tree, counts, seed=seed)
        is_kept = uniforms(seed, "prefix_share", len(counts)) < share_factor
        _share(values, offsets, counts=counts, rows=rows, sharers=np.flatnonzero((rows.shared > 0) & is_kept))
    return make_blocks(offsets, values)


def _share(
    values: NDArray[np.int64],
    offsets: NDArray[np.int64],
    *,
    counts: NDArray[np.int64],
    rows: PrefixRows,
    sharers: NDArray[np.int64],
) -> None:
    """Write earlier requests' ids over the first ids of those who share, in order of arrival."""
    last_user = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    candidates = _Candidates(values, last_user, offsets=offsets, counts=counts)
    sizes = _size_classes(rows.parent_blocks)
    columns = (sharers, *(column[sharers] for column in (rows.shared, rows.distances, sizes, offsets[:-1])))
    ids = values.data
    for request, shared, distance, size, start in zip(*(column.tolist() for column in columns), strict=True):
        parent = candidates.find(request, shared, distance=distance, size_class=size)
        if parent is not None:
            source = candidates.offsets[parent]
            ids[start : start + shared] = ids[source : source + shared]
            last_user[values[start : start + shared]] = request


class _Candidates:
    """Requests by length, and who used each block last; reads arrays that its owner goes on writing."""

    def __init__(
        self,
        values: NDArray[np.int64],
        last_user: NDArray[np.int64],
        *,
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> None:
        self.values, self.last_user = values.data, last_user.data
        self.offsets, self.counts = offsets.data, counts.data
        self.of_size = _group(_size_classes(counts))
        powers = range(int(counts.max(initial=0)).bit_length())
        self.at_least = [np.flatnonzero(counts >= 1 << power).data for power in powers]

    def find(self, request: int, shared: int, *, distance: int, size_class: int) -> int | None:
        """Return the request nearest to the distance that used its first `shared` blocks last.

        It is of the size class if one lies within half of the distance, else any that is long enough. Where the blocks
        of all that were looked at have been used since, the nearest long enough one is taken.
        """
        target = request - distance
        reach = int(distance * WINDOW)
        similar = self.of_size.get(size_class, ())
        near = _outwards(similar, target, low=target - reach, high=min(request, target + reach + 1))
        found = self._first(near, shared)
        if found is None:
            found = self._first(self._long_enough(target, shared, before=request), shared)
        if found is None:
            found = next(self._long_enough(target, shared, before=request), None)
        return found

    def _long_enough(self, target: int, shared: int, *, before: int) -> Iterator[int]:
        places = _outwards(self.at_least[shared.bit_length() - 1], target, low=0, high=before)
        return (place for place in islice(places, MAX_PROBES) if self.counts[place] >= shared)

    def _first(self, places: Iterator[int], shared: int) -> int | None:
        """Return the first of the places whose request has so many blocks and used the last of them last."""
        for place in islice(places, MAX_PROBES):
            if self.counts[place] >= shared and self.last_user[self.values[self.offsets[place] + shared - 1]] == place:
                return place
        return None


def _outwards(places: Sequence[int], target: int, *, low: int, high: int) -> Iterator[int]:
    """Go through ascending places in [low, high), nearest to the target first."""
    right = bisect_left(places, target)
    left, first, end = right - 1, bisect_left(places, low), bisect_left(places, high)
    while left >= first or right < end:
        if left < first or (right < end and places[right] - target <= target - places[left]):
            yield places[right]
            right += 1
        else:
            yield places[left]
            left -= 1


def _size_classes(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    classes: NDArray[np.int64] = np.rint(np.log(np.maximum(counts, 1)) / np.log(SIZE_STEP)).astype(np.int64)
    return classes


def _group(classes: NDArray[np.int64]) -> dict[int, Sequence[int]]:
    """Return the places of each class, ascending."""
    order = np.argsort(classes, kind="stable")
    found, starts = np.unique(classes[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {key: part.data for key, part in zip(found.tolist(), parts, strict=True)}
