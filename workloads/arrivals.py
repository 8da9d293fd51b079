"""Arrival times on an even pattern: one request after the other, always the same time apart."""

import math

import numpy as np
from numpy.typing import NDArray

NS_PER_S = 1_000_000_000


def constant_arrivals(rate_rps: float, duration_s: float) -> NDArray[np.int64]:
    """Place one arrival every `1 / rate_rps` seconds from 0 on; int64 nanoseconds below the duration."""
    count = math.ceil(rate_rps * duration_s)
    times: NDArray[np.int64] = np.rint(np.arange(count) * (NS_PER_S / rate_rps)).astype(np.int64)
    return times[times < round(duration_s * NS_PER_S)]
