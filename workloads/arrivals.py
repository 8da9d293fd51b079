"""Arrival times of made traffic: constant, Poisson or gamma renewal, at any rate from the same draws."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from workloads.streams import uniforms

Family = Literal["constant", "poisson", "gamma"]
NS_PER_US = 1_000
US_PER_S = 1_000_000
NS_PER_S = 1_000_000_000
SIGMAS = 6
SPARE = 16


def constant_arrivals(rate_rps: float, duration_s: float) -> NDArray[np.int64]:
    """Place one arrival every `1 / rate_rps` seconds from 0 on; int64 nanoseconds below the duration."""
    count = math.ceil(rate_rps * duration_s)
    times: NDArray[np.int64] = np.rint(np.arange(count) * (NS_PER_S / rate_rps)).astype(np.int64)
    return times[times < round(duration_s * NS_PER_S)]


def renewal_arrivals(family: Family, cv: float, *, rate_rps: float, duration_s: float, seed: int) -> NDArray[np.int64]:
    """Draw arrivals of a renewal process in [0, duration); int64 nanoseconds, ascending.

    Gaps are the same unit-mean draws at every rate, divided by the rate. Each is rounded to a microsecond
    before it is summed, so that a last-bit difference between machines' logarithms cannot show.
    """
    duration_ns = round(duration_s * NS_PER_S)
    expected = rate_rps * duration_s
    count = math.ceil(expected + SIGMAS * max(cv, 1.0) * math.sqrt(expected)) + SPARE
    while True:
        gaps_us = np.rint(_unit_gaps(family, cv, uniforms(seed, "arrivals", count)) * (US_PER_S / rate_rps))
        times = np.cumsum(gaps_us.astype(np.int64)) * NS_PER_US
        if times[-1] >= duration_ns:
            return times[times < duration_ns]
        count *= 2


def _unit_gaps(family: Family, cv: float, draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn uniform draws into gaps of mean 1 by inverse transform."""
    match family:
        case "poisson":
            return -np.log1p(-draws)
        case "gamma":
            shape = 1.0 / cv**2
            return np.asarray(special.gammaincinv(shape, draws) / shape, dtype=np.float64)
        case "constant":
            return np.ones_like(draws)
