"""Which row of a prefix tree's table each request takes: one measured on a prompt of nearly its own length."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.model import PrefixTree
from workloads.streams import uniforms

NEIGHBOURS = 0.005  # share of the table, to both sides, that counts as the same length
LENGTH_STEP = 1.1  # lengths this near are drawn from one even sequence
MAX_RAISE = 4.0  # of a row's weight for being seen too rarely
TINY = 1e-300
GOLDEN = (5**0.5 - 1) / 2


class PrefixRows(NamedTuple):
    """One entry a request: blocks shared, requests back to the parent (0: shares nothing), the parent's blocks."""

    shared: NDArray[np.int64]
    distances: NDArray[np.int64]
    parent_blocks: NDArray[np.int64]


class _Table(NamedTuple):
    """Rows in order of length class, then sharing; row i has the weight from edges[i] to edges[i + 1], of 1 in all."""

    edges: NDArray[np.float64]
    classes: NDArray[np.int64]
    has_rest: NDArray[np.bool_]
    shared: NDArray[np.int64]
    distances: NDArray[np.int64]
    parent_blocks: NDArray[np.int64]


def draw_rows(tree: PrefixTree, counts: NDArray[np.int64], *, seed: int) -> PrefixRows:
    """Draw a row for each request, given its number of blocks.

    A row that reaches back beyond the first request gives way to the one of its length that shares least. Draws are
    even rather than independent: requests of one length go through the rows of that length by a golden-ratio sequence,
    so a twin shares as much as its trace without the noise of chance.
    """
    table = _order(tree)
    classes = _length_classes(counts)
    low, width = _neighbourhoods(table, classes)
    row = _rows_at(table, low + width * _even_draws(classes, seed))
    index = np.arange(len(counts))
    least = np.minimum(np.searchsorted(table.classes, classes), table.classes.size - 1)
    row = np.where(table.distances[row] <= index, row, least)
    is_possible = table.distances[row] <= index
    shared = np.where(is_possible, np.minimum(table.shared[row], np.maximum(counts - table.has_rest[row], 0)), 0)
    return PrefixRows(
        shared, np.where(shared > 0, table.distances[row], 0), np.maximum(table.parent_blocks[row], shared)
    )


def _order(tree: PrefixTree) -> _Table:
    columns = (tree.input_blocks, tree.shared_blocks, tree.distances)
    inputs, shared, distances = (np.array(column, dtype=np.int64) for column in columns)
    parents = np.array(tree.parent_blocks, dtype=np.int64) if tree.parent_blocks is not None else shared + 1
    classes = _length_classes(inputs)
    order = np.lexsort((distances, shared, classes))
    weights = np.array(tree.weights)[order]
    if tree.num_requests is not None:
        is_least = _least_sharing(classes[order], shared[order])
        chances = 1 - np.minimum(distances[order] / tree.num_requests, 1 - 1 / MAX_RAISE)
        weights = _corrected(weights, chances, classes=classes[order], is_least=is_least)
    edges = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    has_rest = (shared < inputs)[order]
    return _Table(edges, classes[order], has_rest, shared[order], distances[order], parents[order])


def _corrected(
    weights: NDArray[np.float64],
    chances: NDArray[np.float64],
    *,
    classes: NDArray[np.int64],
    is_least: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Give far distances the weight that they would have in a trace without a beginning.

    Only n - d of n requests could have a distance of d, so its weight is divided by that chance (Horvitz and Thompson,
    JASA 1952); what it gains, the rows of its length that share least lose, for there it was booked.
    """
    raised = weights / chances
    gained = np.bincount(classes, raised - weights)
    least = np.bincount(classes, raised * is_least)
    left = np.maximum(1 - gained / np.maximum(least, TINY), 0)
    return np.where(is_least, raised * left[classes], raised)


def _least_sharing(classes: NDArray[np.int64], shared: NDArray[np.int64]) -> NDArray[np.bool_]:
    is_least: NDArray[np.bool_] = shared == shared[np.searchsorted(classes, classes)]
    return is_least


def _neighbourhoods(table: _Table, classes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where in the table's weight the rows of each length begin, and how much weight they have."""
    low = table.edges[np.searchsorted(table.classes, classes, side="left")]
    high = table.edges[np.searchsorted(table.classes, classes, side="right")]
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, NEIGHBOURS)
    middle = np.clip(middle, half, 1 - half)
    return middle - half, 2 * half


def _even_draws(classes: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return for the k-th request of about one length the k-th step of that length's golden-ratio sequence."""
    order = np.argsort(classes, kind="stable")
    _, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    step = np.empty(classes.size, dtype=np.int64)
    step[order] = np.arange(classes.size) - np.repeat(starts, sizes)
    offsets = uniforms(seed, "prefix_rows", int(classes.max(initial=0)) + 1)
    return (offsets[classes] + step * GOLDEN) % 1


def _rows_at(table: _Table, weight: NDArray[np.float64]) -> NDArray[np.int64]:
    rows = np.searchsorted(table.edges, weight, side="right") - 1
    return np.minimum(rows, table.classes.size - 1)


def _length_classes(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    classes: NDArray[np.int64] = np.rint(np.log(np.maximum(counts, 1)) / np.log(LENGTH_STEP)).astype(np.int64)
    return classes
