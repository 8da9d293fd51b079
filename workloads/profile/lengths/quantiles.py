"""The empirical quantiles of lengths: the control beside every family, and what synthesis draws from."""

import numpy as np

from workloads.model import QuantileLengths
from workloads.profile.lengths.counts import Counts, order_statistics

STEPS = 200
OUTER = (0.0005, 0.001, 0.002, 0.9975, 0.999, 0.9995, 0.9999)
PROBABILITIES = tuple(sorted({*(step / STEPS for step in range(STEPS + 1)), *OUTER}))


def tabulate_quantiles(counts: Counts) -> QuantileLengths:
    """Tabulate quantiles at fixed probabilities, 0.005 apart and closer at both ends.

    They interpolate linearly between order statistics (Hyndman and Fan 1996, type 7), as the summary's do.
    """
    tokens = order_statistics(counts, np.asarray(PROBABILITIES) * (counts.total - 1))
    return QuantileLengths(probabilities=PROBABILITIES, tokens=tuple(np.maximum.accumulate(tokens.round(3)).tolist()))
