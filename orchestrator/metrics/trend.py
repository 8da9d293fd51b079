"""Kendall's test against order, exact, for a handful of values: SciPy's takes seconds to import."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations


def kendall_p_value(values: Sequence[float]) -> float:
    """Return the two-sided p-value of Kendall's rank correlation between values and their order; at most some dozens.

    The null distribution is that of values without ties: the number of discordant pairs of a random permutation. A tied
    pair counts for neither side, which errs towards no trend.
    Source: Mann (1945), Econometrica 13; Kendall (1938), Biometrika 30; exact counts: Mahonian numbers.
    """
    pairs = math.comb(len(values), 2)
    balance = sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    fewer = (pairs - abs(balance)) // 2
    tail = sum(_inversions(len(values))[: fewer + 1])
    return min(1.0, 2 * tail / math.factorial(len(values)))


@lru_cache(maxsize=32)
def _inversions(count: int) -> tuple[int, ...]:
    """Count the permutations of `count` values by how many of their pairs are out of order."""
    ways = [1]
    for size in range(2, count + 1):
        longer = [0] * (len(ways) + size - 1)
        for place, number in enumerate(ways):
            for more in range(size):
                longer[place + more] += number
        ways = longer
    return tuple(ways)
