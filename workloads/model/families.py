"""The families of lengths: distribution function, its complement and its inverse, from a dictionary of parameters.

Lengths are in tokens and continuous, but for zipf's; a draw is rounded to whole tokens by who draws. How a family is
fitted to counts is no part of this.

lognormal: `mu`, `sigma` of the natural logarithm. gamma, weibull: `shape`, `scale`. exponential: `mean`.
pareto: P(X > x) = (x / x_min)^-alpha. zipf: P(X = k) = k^-exponent / zeta(exponent, x_min) for whole k from x_min on.
pareto_lognormal: a share `weight` of the lengths is pareto(alpha, x_min), the rest lognormal(mu, sigma); this mixture
of two is what ServeGen (Xiang et al. 2025, arXiv:2505.09999) found for prompts.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from workloads.model.lengths import FamilyName

Values = NDArray[np.float64]
Reals = NDArray[np.floating[Any]]
Parameters = Mapping[str, float]
ZIPF_TABLE = 65_536
MIXTURE_TABLE = 65_536
EXTREME_P = 1e-15


class Family(NamedTuple):
    """One family: its parameters' names, P(X <= x), P(X > x), and the smallest x with P(X <= x) >= p."""

    parameters: tuple[str, ...]
    cdf: Callable[[Parameters, Values], Reals]
    sf: Callable[[Parameters, Values], Reals]
    quantile: Callable[[Parameters, Values], Reals]


def cdf(family: FamilyName, parameters: Parameters, tokens: ArrayLike) -> Values:
    """Return the share of lengths up to each of `tokens`, which are not negative.

    Raises:
        ValueError: a parameter is missing, unknown or out of range.
    """
    check_parameters(family, parameters)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(FAMILIES[family].cdf(parameters, np.asarray(tokens, np.float64)), np.float64)


def sf(family: FamilyName, parameters: Parameters, tokens: ArrayLike) -> Values:
    """Return the share of lengths above each of `tokens`, exact where it is tiny.

    Raises:
        ValueError: a parameter is missing, unknown or out of range.
    """
    check_parameters(family, parameters)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(FAMILIES[family].sf(parameters, np.asarray(tokens, np.float64)), np.float64)


def quantile(family: FamilyName, parameters: Parameters, probabilities: ArrayLike) -> Values:
    """Return the length at each of `probabilities`; infinity at 1, so clip to the longest that there may be.

    Raises:
        ValueError: a parameter is missing, unknown or out of range, or a probability is outside 0 to 1.
    """
    check_parameters(family, parameters)
    shares = np.asarray(probabilities, np.float64)
    if shares.size and not (shares.min() >= 0 and shares.max() <= 1):
        raise ValueError(f"expected probabilities from 0 to 1, seen {shares.min()} to {shares.max()}")
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(FAMILIES[family].quantile(parameters, shares), np.float64)


def check_parameters(family: FamilyName, parameters: Parameters) -> None:
    """Check that a family's parameters are there, and in range.

    Raises:
        ValueError: a parameter is missing, unknown or out of range.
    """
    names = FAMILIES[family].parameters
    if set(parameters) != set(names):
        raise ValueError(
            f"expected the parameters {', '.join(names)} of {family}, seen {', '.join(sorted(parameters))}"
        )
    for name, value in parameters.items():
        low, high = RANGES[name]
        if not low < value < high and not (name == "weight" and value in {low, high}):
            raise ValueError(f"expected {name} of {family} between {low:g} and {high:g}, seen {value}")


def _lognormal_z(parameters: Parameters, tokens: Values) -> Values:
    return np.asarray((np.log(tokens) - parameters["mu"]) / parameters["sigma"])


def _lognormal_quantile(parameters: Parameters, probabilities: Values) -> Values:
    return np.exp(parameters["mu"] + parameters["sigma"] * scipy.special.ndtri(probabilities))


LOGNORMAL = Family(
    ("mu", "sigma"),
    cdf=lambda parameters, tokens: scipy.special.ndtr(_lognormal_z(parameters, tokens)),
    sf=lambda parameters, tokens: scipy.special.ndtr(-_lognormal_z(parameters, tokens)),
    quantile=_lognormal_quantile,
)

GAMMA = Family(
    ("shape", "scale"),
    cdf=lambda parameters, tokens: scipy.special.gammainc(parameters["shape"], tokens / parameters["scale"]),
    sf=lambda parameters, tokens: scipy.special.gammaincc(parameters["shape"], tokens / parameters["scale"]),
    quantile=lambda parameters, shares: parameters["scale"] * scipy.special.gammaincinv(parameters["shape"], shares),
)

WEIBULL = Family(
    ("shape", "scale"),
    cdf=lambda parameters, tokens: -np.expm1(-((tokens / parameters["scale"]) ** parameters["shape"])),
    sf=lambda parameters, tokens: np.exp(-((tokens / parameters["scale"]) ** parameters["shape"])),
    quantile=lambda parameters, shares: parameters["scale"] * (-np.log1p(-shares)) ** (1 / parameters["shape"]),
)

EXPONENTIAL = Family(
    ("mean",),
    cdf=lambda parameters, tokens: -np.expm1(-tokens / parameters["mean"]),
    sf=lambda parameters, tokens: np.exp(-tokens / parameters["mean"]),
    quantile=lambda parameters, shares: -parameters["mean"] * np.log1p(-shares),
)


def _pareto_log_sf(parameters: Parameters, tokens: Values) -> Values:
    return np.asarray(-parameters["alpha"] * np.log(np.maximum(tokens / parameters["x_min"], 1.0)))


PARETO = Family(
    ("alpha", "x_min"),
    cdf=lambda parameters, tokens: -np.expm1(_pareto_log_sf(parameters, tokens)),
    sf=lambda parameters, tokens: np.exp(_pareto_log_sf(parameters, tokens)),
    quantile=lambda parameters, shares: parameters["x_min"] * (1 - shares) ** (-1 / parameters["alpha"]),
)


def _zipf_sf(parameters: Parameters, tokens: Values) -> Reals:
    first = np.ceil(parameters["x_min"])
    beyond = np.maximum(np.floor(tokens) + 1, first)
    is_finite = np.isfinite(beyond)
    tail = scipy.special.zeta(parameters["exponent"], np.where(is_finite, beyond, first))
    return np.asarray(np.where(is_finite, tail / scipy.special.zeta(parameters["exponent"], first), 0.0), np.float64)


def _zipf_quantile(parameters: Parameters, probabilities: Values) -> Values:
    """Look up the first lengths; beyond them zeta(s, q) is (q - 1/2)^(1 - s) / (s - 1) to 1 in 10^10."""
    first, exponent = np.ceil(parameters["x_min"]), parameters["exponent"]
    lengths = first + np.arange(ZIPF_TABLE, dtype=np.float64)
    table = 1 - _zipf_sf(parameters, lengths)
    places = np.searchsorted(table, probabilities)
    tail = (exponent - 1) * scipy.special.zeta(exponent, first) * (1 - probabilities)
    far = np.ceil(tail ** (1 / (1 - exponent)) - 0.5)
    near = lengths[np.minimum(places, ZIPF_TABLE - 1)]
    return np.asarray(np.where(places < ZIPF_TABLE, near, np.maximum(far, lengths[-1])), np.float64)


ZIPF = Family(
    ("exponent", "x_min"),
    cdf=lambda parameters, tokens: 1 - _zipf_sf(parameters, tokens),
    sf=_zipf_sf,
    quantile=_zipf_quantile,
)


def _mixture_cdf(parameters: Parameters, tokens: Values) -> Values:
    weight = parameters["weight"]
    return np.asarray((1 - weight) * LOGNORMAL.cdf(parameters, tokens) + weight * PARETO.cdf(parameters, tokens))


def _mixture_sf(parameters: Parameters, tokens: Values) -> Values:
    weight = parameters["weight"]
    return np.asarray((1 - weight) * LOGNORMAL.sf(parameters, tokens) + weight * PARETO.sf(parameters, tokens))


def _mixture_quantile(parameters: Parameters, probabilities: Values) -> Values:
    """Invert the distribution function by a table of logarithms, as it has no inverse in closed form."""
    ends = np.array([EXTREME_P, 1 - EXTREME_P])
    both = np.concatenate([LOGNORMAL.quantile(parameters, ends), PARETO.quantile(parameters, ends)])
    logs = np.linspace(np.log(both.min()), np.log(both.max()), MIXTURE_TABLE)
    table = _mixture_cdf(parameters, np.exp(logs))
    inside = np.exp(np.interp(probabilities, table, logs))
    return np.where(probabilities >= 1, np.inf, inside)


PARETO_LOGNORMAL = Family(
    ("weight", "mu", "sigma", "alpha", "x_min"), cdf=_mixture_cdf, sf=_mixture_sf, quantile=_mixture_quantile
)

FAMILIES: dict[FamilyName, Family] = {
    "lognormal": LOGNORMAL,
    "gamma": GAMMA,
    "weibull": WEIBULL,
    "pareto": PARETO,
    "exponential": EXPONENTIAL,
    "zipf": ZIPF,
    "pareto_lognormal": PARETO_LOGNORMAL,
}
RANGES: dict[str, tuple[float, float]] = {
    "mu": (-np.inf, np.inf),
    "sigma": (0, np.inf),
    "shape": (0, np.inf),
    "scale": (0, np.inf),
    "mean": (0, np.inf),
    "alpha": (0, np.inf),
    "x_min": (0, np.inf),
    "exponent": (1, np.inf),
    "weight": (0, 1),
}
