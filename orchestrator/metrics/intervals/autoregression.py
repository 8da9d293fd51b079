"""Autoregressions fitted to short series: how far a series remembers, and the variance of its sum in the long run.

Fits one series at a time and judges nothing.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SHORT = 200  # below, a series is called dependent only where it clearly shows it
MAX_ORDER_SLOPE = 10.0  # of log10 n, the customary bound on the order
MIN_PER_COEFFICIENT = 4
NEGLIGIBLE = 1e-4  # of an autocorrelation
EXPLAINED = 0.01  # share of noise below which a series is as good as deterministic, and higher orders fit rounding
PATIENCE = 8  # orders without gain after which no more are tried


@dataclass(frozen=True, slots=True)
class Autoregression:
    """x_t = sum of coefficients times earlier x, plus noise of `noise_ratio` times the variance of x.

    `early` holds the autocorrelations of the process at lags 1 to its order.
    """

    coefficients: Floats
    noise_ratio: float
    early: Floats

    @property
    def order(self) -> int:
        """Return how many earlier values the next one leans on; 0 for independent values."""
        return int(self.coefficients.size)

    @property
    def inflation(self) -> float:
        """Return the long-run variance over the plain one: the spectrum at frequency zero; 1 at order 0."""
        return self.noise_ratio / (1.0 - float(self.coefficients.sum())) ** 2

    def autocorrelations(self, most: int) -> Floats:
        """Return the autocorrelations from lag 1 until they are negligible, at most `most`.

        By the recursion of Yule and Walker from those at the first lags.
        """
        order = self.order
        found, latest_first = self.early.tolist(), self.coefficients[::-1]
        while order and len(found) < most and max(map(abs, found[-order:])) > NEGLIGIBLE:
            found.append(float(latest_first @ np.array(found[-order:])))
        return np.array(found[: max(most, 0)], dtype=np.float64)


def fit(series: Floats) -> Autoregression:
    """Fit by Burg's method, the order by the corrected Akaike criterion, in a short series by the Bayesian one.

    The Bayesian criterion keeps order 0 in some 95 % of independent series, so that a short window is not called
    dependent by chance. A series without variation has order 0.
    Source: Burg (1975), thesis, Stanford; Hurvich & Tsai (1989), Biometrika 76; Schwarz (1978), Ann. Statist. 6.
    """
    n = series.size
    best, cheapest = _NONE, math.inf
    for one in _burg(series):
        cost = _cost(n, one)
        if cost < cheapest:
            best, cheapest = one, cost
        elif one.order > best.order + PATIENCE:
            break
    return best


def _cost(n: int, model: Autoregression) -> float:
    parameters = model.order + 1
    penalty = math.log(n) if n < SHORT else 2.0 * n / (n - parameters - 1)
    return n * math.log(model.noise_ratio) + penalty * parameters


def _burg(series: Floats) -> Iterator[Autoregression]:
    """Give the fits of rising order, the noise corrected for the parameters spent; none without variation."""
    n = series.size
    forward = series - series.mean() if n else series
    power = float(forward @ forward)
    if n == 0 or power <= n * (np.finfo(np.float64).eps * float(np.abs(series).max())) ** 2:
        return
    backward, coefficients, ratio, early = forward, np.empty(0), 1.0, np.empty(0)
    yield _NONE
    for order in range(1, _max_order(n) + 1):
        ahead, behind = forward[1:], backward[:-1]
        energy = float(ahead @ ahead + behind @ behind)
        reflection = 2.0 * float(ahead @ behind) / energy if energy > 0.0 else 1.0
        if abs(reflection) >= 1.0 or ratio < EXPLAINED:
            return
        early = np.append(early, coefficients @ early[::-1] + reflection * ratio)
        coefficients = np.append(coefficients - reflection * coefficients[::-1], reflection)
        forward, backward = ahead - reflection * behind, behind - reflection * ahead
        ratio *= 1.0 - reflection**2
        yield Autoregression(coefficients, ratio * (n - 1) / (n - 1 - order), early)


def _max_order(n: int) -> int:
    return int(min(MAX_ORDER_SLOPE * math.log10(n), n // MIN_PER_COEFFICIENT))


_NONE = Autoregression(np.empty(0), 1.0, np.empty(0))
