"""When a trial is clearly behind the others at the same load. Values in, a verdict out; stops nothing itself."""

import statistics
from collections.abc import Collection

MIN_OTHERS = 4  # a median of fewer is a coin toss
MARGIN = 0.1  # of the median: repeats of one configuration on a small machine differ by about this much


def is_behind(value: float, others: Collection[float], *, min_others: int = MIN_OTHERS) -> bool:
    """Say whether a value lies more than the margin below the median of the others at the same load.

    Source: the median stopping rule of Golovin et al. (Vizier, KDD 2017), section 3.2, with a margin for noise.
    """
    if len(others) < min_others:
        return False
    median = statistics.median(others)
    return value < median - MARGIN * abs(median)
