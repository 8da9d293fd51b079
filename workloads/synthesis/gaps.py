"""Gaps between arrivals, in mean gaps, by inverse transform of uniform draws."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from workloads.synthesis.curves import SynthesisError

GapFamily = Literal["gamma", "weibull"]
SHAPES = (0.05, 1e4)
MAX_CV = 50.0
PIECE = 1 << 20
THREADS = 2


def unit_gaps(family: GapFamily, cv: float, draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn uniform draws into gaps of mean 1 with this coefficient of variation; both families are exponential at 1.

    Raises:
        SynthesisError: the CV is above 50, which no load of some thousands of requests would show.
    """
    if cv > MAX_CV:
        raise SynthesisError(f"expected gaps with a CV of at most {MAX_CV:g}, seen {cv:g}; use on/off states instead")
    if cv == 1.0:
        return -np.log1p(-draws)
    match family:
        case "gamma":
            return _gamma_gaps(1.0 / cv**2, draws)
        case "weibull":
            shape = weibull_shape(cv)
            return np.asarray((-np.log1p(-draws)) ** (1 / shape) / math.gamma(1 + 1 / shape), dtype=np.float64)


def _gamma_gaps(shape: float, draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert each draw on its own, in pieces by two threads: SciPy takes a microsecond for one."""
    gaps = np.empty_like(draws)

    def invert(start: int) -> None:
        piece = slice(start, start + PIECE)
        scipy.special.gammaincinv(shape, draws[piece], out=gaps[piece])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(invert, range(0, len(draws), PIECE)))
    gaps /= shape
    return gaps


@lru_cache(maxsize=256)
def weibull_shape(cv: float) -> float:
    """Return the Weibull shape k with this CV: CV^2 = G(1 + 2/k) / G(1 + 1/k)^2 - 1 (Johnson, Kotz 1994, ch. 21).

    Raises:
        SynthesisError: no shape from 0.05 to 10,000 has it.
    """
    low, high = SHAPES
    if not _weibull_log_excess(high, cv) < 0 < _weibull_log_excess(low, cv):
        raise SynthesisError(f"expected the CV of a Weibull with shape {low:g} to {high:g}, seen {cv:g}")
    return round(float(scipy.optimize.brentq(_weibull_log_excess, low, high, args=(cv,), xtol=1e-13)), 10)


def _weibull_log_excess(shape: float, cv: float) -> float:
    return math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape) - math.log1p(cv**2)
