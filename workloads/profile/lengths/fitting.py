"""Families fitted by maximum likelihood, ranked by Akaike's criterion, tested by a parametric bootstrap."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, get_args

import numpy as np
from scipy import optimize

from workloads.model import FamilyName
from workloads.model.families import FAMILIES, Parameters, Values
from workloads.profile.lengths.counts import Counts
from workloads.profile.lengths.distances import measure_ad, measure_ks
from workloads.profile.lengths.families import free_numbers, parameters_of, starting_points
from workloads.profile.lengths.intervals import (
    Intervals,
    grouped_intervals,
    interval_shares,
    log_likelihood,
    single_intervals,
)
from workloads.profile.lengths.model import Fit

FAMILY_NAMES: tuple[FamilyName, ...] = get_args(FamilyName)
MIN_REQUESTS = 10
MIN_DISTINCT = 3
FIRST_STEP = 0.2
TOLERANCE = 1e-4
REFIT_TOLERANCE = 0.02
MAX_STEPS = 2000
CLEARLY_NEARER = 0.5
ENOUGH_SAMPLES = 19  # p is then 1 in 20 at most


class Resolution(NamedTuple):
    """The same requests twice: each distinct length by itself, and grouped for the search."""

    single: Intervals
    grouped: Intervals


def fit_families(
    counts: Counts, cap: int | None, *, generator: np.random.Generator, num_bootstraps: int, num_tested: int
) -> tuple[Fit, ...]:
    """Fit every family to positive lengths, the best by AIC first; none where there is too little to fit.

    AIC is 2 k - 2 log L (Akaike 1974); a power law's x_min counts as a parameter. Lengths from `cap` on are
    right-censored there. The first `num_tested` get a bootstrap p.
    """
    below = counts.between(1, cap - 1 if cap is not None else np.inf)
    if below.total < MIN_REQUESTS or below.tokens.size < MIN_DISTINCT:
        return ()
    views = Resolution(single_intervals(counts, cap), grouped_intervals(counts, cap))
    fits = sorted((fit_family(family, views) for family in FAMILY_NAMES), key=lambda fit: fit.aic)
    tested = [
        bootstrap_fit(fit, views.grouped, generator=generator, num_bootstraps=num_bootstraps)
        for fit in fits[:num_tested]
    ]
    return (*tested, *fits[num_tested:])


def fit_family(family: FamilyName, views: Resolution) -> Fit:
    """Fit one family: search on grouped lengths, likelihood and distances on single ones.

    The mixture is searched on single ones in the end, as its density jumps at x_min.
    """
    parameters = maximise_likelihood(family, views.grouped, starts=starting_points(family, views.grouped))
    if family == "pareto_lognormal":
        parameters = maximise_likelihood(family, views.single, starts=[parameters], tolerance=REFIT_TOLERANCE)
    shares = interval_shares(family, parameters, views.single)
    reached = log_likelihood(family, parameters, views.single)
    return Fit(
        family=family,
        parameters=dict(parameters),
        log_likelihood=reached,
        aic=2 * len(FAMILIES[family].parameters) - 2 * reached,
        ks=measure_ks(views.single, shares),
        ad=measure_ad(views.single, shares),
        bootstrap_p=None,
    )


def maximise_likelihood(
    family: FamilyName, intervals: Intervals, *, starts: Iterable[Parameters], tolerance: float = TOLERANCE
) -> Parameters:
    """Find the parameters that make the requests likeliest, by Nelder and Mead's simplex from each start.

    `tolerance` is of the log-likelihood; its root is the free numbers', since the likelihood is flat at its top.
    """
    lowest = intervals.lowest

    def cost(free: Values) -> float:
        return -log_likelihood(family, parameters_of(family, free, lowest), intervals)

    found = [descend(cost, free_numbers(family, start), tolerance=tolerance) for start in starts]
    best, _ = min(found, key=lambda one: one[1])
    return parameters_of(family, best, lowest)


def descend(cost: Callable[[Values], float], start: Values, *, tolerance: float) -> tuple[Values, float]:
    """Find where a cost is least, by Nelder and Mead's simplex; return the place and the cost there."""
    simplex = np.vstack([start, start + FIRST_STEP * np.eye(start.size)])
    found = optimize.minimize(
        cost,
        start,
        method="Nelder-Mead",
        options={
            "initial_simplex": simplex,
            "xatol": float(np.sqrt(tolerance)),
            "fatol": tolerance,
            "maxfev": MAX_STEPS,
        },
    )
    return np.asarray(found.x, np.float64), float(found.fun)


def bootstrap_fit(fit: Fit, intervals: Intervals, *, generator: np.random.Generator, num_bootstraps: int) -> Fit:
    """Add (1 + samples at least as far) / (1 + samples) to a fit (Davison and Hinkley 1997, section 4.2).

    Each sample is of the fitted family, of as many requests, in the same intervals, and is fitted anew. Nineteen are
    enough where none of them comes half as far: the rest would not change what p says.
    """
    if not num_bootstraps:
        return fit
    shares = interval_shares(fit.family, fit.parameters, intervals)
    seen = measure_ks(intervals, shares)
    samples = generator.multinomial(intervals.total, shares / shares.sum(), size=num_bootstraps)
    distances: list[float] = []
    for sample in samples:
        distances.append(_refit_ks(fit, Intervals(intervals.edges, sample)))
        if len(distances) == ENOUGH_SAMPLES and max(distances) < CLEARLY_NEARER * seen:
            break
    num_as_far = int(np.count_nonzero(np.array(distances) >= seen))
    return fit.model_copy(update={"bootstrap_p": (1 + num_as_far) / (1 + len(distances))})


def _refit_ks(fit: Fit, intervals: Intervals) -> float:
    parameters = maximise_likelihood(fit.family, intervals, starts=[fit.parameters], tolerance=REFIT_TOLERANCE)
    return measure_ks(intervals, interval_shares(fit.family, parameters, intervals))
