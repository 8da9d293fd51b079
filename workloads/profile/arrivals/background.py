"""The spectrum of a rate that drifts: a floor, and power that falls with frequency. A period must stand out from it."""

import numpy as np

from workloads.profile.arrivals.counts import Floats
from workloads.profile.arrivals.search import minimise

NUM_BANDS = 48
NEIGHBOURS = 1
MAX_EVALUATIONS = 400


def fit_background(frequency_hz: Floats, density: Floats, *, without: int | None = None) -> Floats:
    """Fit floor + height / (1 + (f / corner)^2) to periodogram ordinates by Whittle's likelihood.

    That is the spectrum of a Poisson process whose rate is an Ornstein-Uhlenbeck process or switches between two
    states (Cox & Lewis 1966, section 5.5). Ordinates are averaged in bands of equal width on a log axis first; the
    one at `without`, and its neighbours, have no say.
    """
    kept = np.ones(density.size)
    if without is not None:
        kept[max(0, without - NEIGHBOURS) : without + NEIGHBOURS + 1] = 0.0
    sizes, centres, means = _bands(frequency_hz, density, kept)
    start = [np.median(density) / np.log(2), means[:4].mean(), centres[len(centres) // 4]]
    found = minimise(
        lambda point: _misfit(point, centres, means, sizes=sizes),
        [float(np.log(value)) for value in start],
        [0.2, 0.5, 0.5],
        evaluations=MAX_EVALUATIONS,
        tolerance=0.01,
    )
    return _shape(found.point, frequency_hz)


def _bands(frequency_hz: Floats, density: Floats, kept: Floats) -> tuple[Floats, Floats, Floats]:
    edges = np.unique(np.rint(np.geomspace(1, density.size + 1, NUM_BANDS)).astype(np.int64))[:-1] - 1
    sizes = np.add.reduceat(kept, edges)
    filled = sizes > 0
    sums = (np.add.reduceat(values * kept, edges)[filled] for values in (frequency_hz, density))
    centres, means = (total / sizes[filled] for total in sums)
    return sizes[filled], centres, means


def _shape(point: Floats, frequency_hz: Floats) -> Floats:
    floor, height, corner = np.exp(np.clip(point, -700.0, 700.0))
    return np.asarray(floor + height / (1 + (frequency_hz / corner) ** 2))


def _misfit(point: Floats, centres: Floats, means: Floats, *, sizes: Floats) -> float:
    shape = _shape(point, centres)
    return float((sizes * (np.log(shape) + means / shape)).sum())
