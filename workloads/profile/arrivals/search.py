"""The search for likely parameters where no derivative is at hand: Nelder & Mead, Computer Journal 7 (1965)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize

from workloads.profile.arrivals.counts import Floats


class Minimum(NamedTuple):
    """The lowest point found, and the value there."""

    point: Floats
    value: float


def minimise(
    misfit: Callable[[Floats], float], start: list[float], steps: list[float], *, evaluations: int, tolerance: float
) -> Minimum:
    """Search from `start` and a step along each axis, until the simplex is level to within `tolerance`.

    It ends, too, when the evaluations are spent.
    """
    simplex = np.array(start) + np.vstack([np.zeros(len(start)), np.diag(steps)])
    found = optimize.minimize(
        misfit,
        start,
        method="Nelder-Mead",
        options={"maxfev": evaluations, "xatol": 0.02, "fatol": tolerance, "initial_simplex": simplex},
    )
    return Minimum(np.asarray(found.x, dtype=np.float64), float(found.fun))
