"""Summaries of token counts."""

import numpy as np
from numpy.typing import NDArray

from workloads.profile.lengths.model import Lengths

PERCENTS = (50, 90, 95, 99)


def summarise_lengths(tokens: NDArray[np.int32]) -> Lengths | None:
    """Summarise token counts; None where there are none.

    Percentiles interpolate linearly between the two nearest order statistics (Hyndman and Fan 1996, type 7).
    """
    if tokens.size == 0:
        return None
    p50, p90, p95, p99 = (float(value) for value in np.percentile(tokens, PERCENTS))
    return Lengths(
        mean=float(tokens.mean(dtype=np.float64)),
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=int(tokens.max()),
        min=int(tokens.min()),
    )
