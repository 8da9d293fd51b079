"""Summaries of token counts."""

import numpy as np
from numpy.typing import NDArray

from workloads.profile.lengths.counts import count_lengths, order_statistics
from workloads.profile.lengths.model import Lengths

PERCENTS = (50, 90, 95, 99)


def summarise_lengths(tokens: NDArray[np.int32]) -> Lengths | None:
    """Summarise token counts; None where there are none.

    Percentiles interpolate linearly between the two nearest order statistics (Hyndman and Fan 1996, type 7).
    """
    if tokens.size == 0:
        return None
    counts = count_lengths(tokens)
    places = np.array(PERCENTS) / 100 * (counts.total - 1)
    p50, p90, p95, p99 = (float(value) for value in order_statistics(counts, places))
    return Lengths(
        mean=float(counts.tokens @ counts.requests) / counts.total,
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=int(counts.tokens[-1]),
        min=int(counts.tokens[0]),
    )
