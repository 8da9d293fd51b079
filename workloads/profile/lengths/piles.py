"""Piles: single lengths, or a few side by side, that far more requests have than lengths around them.

A pile with nothing to speak of beyond it is a cap: longer requests were cut there. Any other one is a lump, made for
instance by a prompt that many requests send.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from workloads.profile.lengths.counts import Counts

NEIGHBOUR_RATIO = 0.1
FEWEST_NEIGHBOURS = 10
WIDTH_RATIO = 0.01
SHALLOWEST_RATIO = 0.1
MIN_HEIGHT_RATIO = 5.0
MAX_CHANCE = 1e-4
MAX_WHISKER_RATIO = 0.02
NUM_CANDIDATES = 60
MIN_LUMP_SHARE = 0.01


class Pile(NamedTuple):
    """Lengths from `low` to `high` tokens, and how many requests have one of them."""

    low: int
    high: int
    num_requests: int


def find_cap(counts: Counts) -> Pile | None:
    """Find the pile at the upper end, None where there is none; all lengths a hundredth above it belong to it.

    What lies beyond a cap may be a whisker: at most one request for fifty at the cap.
    """
    if counts.tokens.size < 2:  # noqa: PLR2004 - one length alone piles up nowhere
        return None
    ends = np.cumsum(counts.requests)
    windows = np.searchsorted(counts.tokens, counts.tokens * (1 + WIDTH_RATIO) + 1, side="right") - 1
    held = ends[windows] - ends + counts.requests
    near_top = np.flatnonzero(ends[-1] - ends[windows] <= MAX_WHISKER_RATIO * held)
    tallest = int(near_top[np.argmax(counts.requests[near_top])])
    if not _stands_out(counts, tallest):
        return None
    low = _pile_around(counts, tallest).low
    inside = counts.between(low, low * (1 + WIDTH_RATIO) + 1)
    pile = Pile(low, int(inside.tokens[-1]), inside.total)
    is_cap = low > counts.tokens[0] and counts.number_above(pile.high) <= MAX_WHISKER_RATIO * pile.num_requests
    return pile if is_cap else None


def find_lumps(counts: Counts) -> tuple[Pile, ...]:
    """Find piles that hold at least a hundredth of the requests each, the largest first; a floor is none."""
    tallest_first = np.argsort(-counts.requests, kind="stable")[:NUM_CANDIDATES]
    lumps: list[Pile] = []
    for index in tallest_first.tolist():
        if index == 0 or not _stands_out(counts, index):
            continue
        pile = _pile_around(counts, index)
        if all(pile.high < known.low or pile.low > known.high for known in lumps):
            lumps.append(pile)
    large = [pile for pile in lumps if pile.num_requests >= MIN_LUMP_SHARE * counts.total]
    return tuple(sorted(large, key=lambda pile: -pile.num_requests))


def _stands_out(counts: Counts, index: int) -> bool:
    """Tell whether chance alone would hardly make one length so much more frequent than those around it."""
    height = int(counts.requests[index])
    usual = float(np.median(_neighbours(counts, index)))
    chance = stats.poisson.sf(height - 1, usual)
    return bool(height >= MIN_HEIGHT_RATIO * usual and chance < MAX_CHANCE)


def _neighbours(counts: Counts, index: int) -> NDArray[np.int64]:
    """Return how many requests have each length around one; one request where no length is near."""
    token = int(counts.tokens[index])
    reach = max(FEWEST_NEIGHBOURS, int(token * NEIGHBOUR_RATIO))
    first, last = np.searchsorted(counts.tokens, [token - reach, token + reach + 1])
    around = np.concatenate([counts.requests[first:index], counts.requests[index + 1 : last]])
    return around if around.size else np.ones(1, np.int64)


def _pile_around(counts: Counts, index: int) -> Pile:
    """Widen a pile while the next length is at least a tenth as frequent, by a hundredth of its length at most."""
    shallowest = SHALLOWEST_RATIO * counts.requests[index]
    widest = max(1, int(counts.tokens[index] * WIDTH_RATIO))
    first = last = index
    while first > 0 and _continues(counts, first - 1, first, shallowest) and index - first < widest:
        first -= 1
    while last + 1 < counts.tokens.size and _continues(counts, last + 1, last, shallowest) and last - index < widest:
        last += 1
    return Pile(int(counts.tokens[first]), int(counts.tokens[last]), int(counts.requests[first : last + 1].sum()))


def _continues(counts: Counts, index: int, beside: int, shallowest: float) -> bool:
    is_next = abs(int(counts.tokens[index]) - int(counts.tokens[beside])) == 1
    return is_next and bool(counts.requests[index] >= shallowest)
