"""How each family is fitted: between its parameters and free real numbers, and where the search begins.

The distributions themselves are in `workloads.model.families`.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from workloads.model import FamilyName
from workloads.model.families import FAMILIES, Parameters, Values
from workloads.profile.lengths.intervals import Intervals

POWER_LAWS: tuple[FamilyName, ...] = ("pareto", "zipf")
MIXTURE_STARTS = ((0.5, 0.25), (0.8, 0.1), (0.95, 0.02), (0.95, 0.0001))
MIXTURE_ALPHA = 2.0
WIDEST = 30.0


class LogMoments(NamedTuple):
    """Mean and standard deviation of the logarithms of lengths, and the mean of the lengths; by interval middles."""

    mean_log: float
    deviation_log: float
    mean: float


def free_numbers(family: FamilyName, parameters: Parameters) -> Values:
    """Map parameters to real numbers that may take any value."""
    names = free_names(family)
    return np.array([_free(name, parameters[name]) for name in names])


def parameters_of(family: FamilyName, free: Values, lowest: float) -> Parameters:
    """Map free numbers back to parameters.

    The x_min of a power law is not free: the likelihood grows with it up to the shortest request, whose lower edge
    `lowest` is.
    """
    parameters = {name: _bound(name, value) for name, value in zip(free_names(family), free.tolist(), strict=True)}
    if family in POWER_LAWS:
        parameters["x_min"] = float(np.ceil(lowest)) if family == "zipf" else lowest
    return parameters


def free_names(family: FamilyName) -> tuple[str, ...]:
    """Return the parameters that a search moves."""
    names = FAMILIES[family].parameters
    return tuple(name for name in names if name != "x_min") if family in POWER_LAWS else names


def _free(name: str, value: float) -> float:
    if name == "mu":
        return value
    if name == "weight":
        return float(special.logit(value))
    return float(np.log(value - 1 if name == "exponent" else value))


def _bound(name: str, free: float) -> float:
    if name == "mu":
        return free
    within = min(max(free, -WIDEST), WIDEST)
    if name == "weight":
        return float(special.expit(within))
    return float(np.exp(within)) + (1 if name == "exponent" else 0)


def log_moments(intervals: Intervals) -> LogMoments:
    """Measure the moments that searches begin with; a cap counts at its bound."""
    low, high = np.maximum(intervals.edges[:-1], 0.5), intervals.edges[1:].copy()
    high[-1] = low[-1]
    middles, weights = np.sqrt(low * high), intervals.requests / intervals.total
    mean_log = float(weights @ np.log(middles))
    deviation = float(np.sqrt(weights @ (np.log(middles) - mean_log) ** 2))
    return LogMoments(mean_log, max(deviation, 0.01), float(weights @ middles))


def starting_points(family: FamilyName, intervals: Intervals) -> tuple[Parameters, ...]:
    """Return parameters to begin the search with, from moments of logarithms: a Gumbel variable's for the Weibull."""
    moments = log_moments(intervals)
    if family == "pareto_lognormal":
        return _mixture_starts(intervals, moments)
    slope = 1 / max(moments.mean_log - float(np.log(intervals.lowest)), 0.01)
    gamma_shape = 0.5 / max(float(np.log(moments.mean)) - moments.mean_log, 1e-4)
    weibull_shape = float(np.pi / np.sqrt(6)) / moments.deviation_log
    weibull_scale = float(np.exp(moments.mean_log + np.euler_gamma / weibull_shape))
    starts: dict[FamilyName, Parameters] = {
        "lognormal": {"mu": moments.mean_log, "sigma": moments.deviation_log},
        "gamma": {"shape": gamma_shape, "scale": moments.mean / gamma_shape},
        "weibull": {"shape": weibull_shape, "scale": weibull_scale},
        "exponential": {"mean": moments.mean},
        "pareto": {"alpha": slope, "x_min": intervals.lowest},
        "zipf": {"exponent": 1 + slope, "x_min": intervals.lowest},
    }
    return (starts[family],)


def _mixture_starts(intervals: Intervals, moments: LogMoments) -> tuple[Parameters, ...]:
    """Begin with tails of several sizes, as the likelihood of a mixture has several peaks."""
    reached = np.cumsum(intervals.requests) / intervals.total
    body = {"mu": moments.mean_log, "sigma": moments.deviation_log, "alpha": MIXTURE_ALPHA}
    return tuple(
        {
            **body,
            "weight": weight,
            "x_min": max(float(intervals.edges[np.searchsorted(reached, share)]), intervals.lowest),
        }
        for share, weight in MIXTURE_STARTS
    )
