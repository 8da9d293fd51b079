"""Is the tail a power law? Clauset, Shalizi and Newman 2009 (SIAM Review 51:661), with three answers.

The rival is a lognormal on the same tail (section 5) whose median is a token at least: without that bound a lognormal
can copy any power law, and the ratio could never speak for one (as the positive lognormal of Alstott, Bullmore and
Plenz 2014). Likelihoods are of grouped whole counts; what was capped is censored.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from workloads.model.families import LOGNORMAL, Parameters, Values
from workloads.profile.lengths.counts import Counts
from workloads.profile.lengths.fitting import descend
from workloads.profile.lengths.intervals import LEAST_P, grouped_intervals
from workloads.profile.lengths.model import Tail
from workloads.profile.lengths.power_law import MIN_INTERVALS, MIN_TAIL, Excess, choose_excess, estimate_rates, fit_p

MIN_SPAN = 10.0
MAX_P = 0.1
MIN_FIT_P = 0.02
TOLERANCE = 1e-2
LOWEST_MU, WIDEST = 0.05, 20.0

Answer = Literal["yes", "no", "cannot tell"]


class Comparison(NamedTuple):
    """Normalised log-likelihood ratio, above 0 for the power law, and the chance of one as far from 0 (Vuong 1989)."""

    ratio: float
    p: float


def describe_tail(counts: Counts, cap: int | None, *, generator: np.random.Generator) -> Tail:
    """Answer whether the tail of positive lengths is a power law; `alpha` is the exponent of its density.

    No: the power law lies farther from the tail than nearly all of its own samples (p < 0.02), or the lognormal is
    likelier (p < 0.1). Yes: it fits, it is likelier (p < 0.1), and the tail spans a factor of ten. Otherwise, and
    where fewer than 50 uncapped requests are left for a tail, it cannot be told.
    """
    excess = choose_excess(grouped_intervals(counts, cap)) if counts.tokens.size else None
    if excess is None:
        return _no_tail()
    (rate,) = estimate_rates(excess.logs, excess.requests[np.newaxis])
    comparison = compare_with_lognormal(excess, float(rate))
    answer, reason = _judge(excess, comparison, fit_p(excess, generator))
    return Tail(
        is_power_law=answer,
        x_min=round(excess.x_min_edge + 0.5),
        alpha=float(rate) + 1,
        num_tail=excess.total,
        log_likelihood_ratio=comparison.ratio,
        p=comparison.p,
        reason=reason,
    )


def _no_tail() -> Tail:
    return Tail(
        is_power_law="cannot tell",
        x_min=None,
        alpha=None,
        num_tail=0,
        log_likelihood_ratio=None,
        p=None,
        reason=f"too few: a tail needs {MIN_TAIL} requests below the cap, over {MIN_INTERVALS} different lengths",
    )


def _judge(excess: Excess, comparison: Comparison, goodness_p: float) -> tuple[Answer, str]:
    fits = f"bootstrap p {goodness_p:.3f}"
    ratio = f"likelihood ratio {comparison.ratio:+.1f}, p {comparison.p:.2g}"
    if goodness_p < MIN_FIT_P:
        return "no", f"the nearest power law does not fit the {excess.total} longest requests ({fits}; {ratio})"
    if comparison.p >= MAX_P:
        return "cannot tell", f"the {excess.total} longest requests do not set it apart from a lognormal ({ratio})"
    if comparison.ratio < 0:
        return "no", f"a lognormal is likelier for the {excess.total} longest requests ({ratio})"
    if excess.span < MIN_SPAN:
        return "cannot tell", f"the tail spans a factor of {excess.span:.1f} only, {MIN_SPAN:.0f} are needed ({ratio})"
    return "yes", f"it fits ({fits}) and is likelier than a lognormal ({ratio})"


def compare_with_lognormal(excess: Excess, rate: float) -> Comparison:
    """Compare a power law of this rate with the likeliest lognormal (equations C.5 and C.6)."""
    power_law = _log_shares(np.exp(-rate * excess.logs))
    rival = _log_shares(_lognormal_sf(excess, fit_lognormal(excess, rate)))
    differences = np.where(excess.requests > 0, power_law - rival, 0.0)
    mean = float(excess.requests @ differences) / excess.total
    variance = float(excess.requests @ (differences - mean) ** 2) / excess.total
    if variance <= 0:
        return Comparison(0.0, 1.0)
    ratio = mean * float(np.sqrt(excess.total / variance))
    return Comparison(ratio, float(special.erfc(abs(ratio) / np.sqrt(2))))


def fit_lognormal(excess: Excess, rate: float) -> Parameters:
    """Fit a lognormal to a tail, given that lengths lie above x_min; its median is a token at least.

    The search begins once with the tail's own logarithms, and once with a median far below, as wide as falls at `rate`.
    """
    bottom = float(np.log(excess.x_min_edge))
    median = max(bottom / 4, 0.1)
    starts = [(bottom + 1 / rate, 1 / rate), (median, float(np.sqrt((bottom - median + 0.1) / rate)))]

    def cost(free: Values) -> float:
        return -float(excess.requests @ _log_shares(_lognormal_sf(excess, _lognormal(free))))

    found = [descend(cost, np.log(start), tolerance=TOLERANCE) for start in starts]
    return _lognormal(min(found, key=lambda one: one[1])[0])


def _lognormal(free: Values) -> Parameters:
    """Map two free numbers to a median of a token or more, and a width; both bounded, so that the search ends."""
    mu, sigma = np.clip(np.exp(np.clip(free, -WIDEST, WIDEST)), [LOWEST_MU, 1 / WIDEST**2], WIDEST).tolist()
    return {"mu": mu, "sigma": sigma}


def _lognormal_sf(excess: Excess, parameters: Parameters) -> Values:
    above = LOGNORMAL.sf(parameters, excess.x_min_edge * np.exp(excess.logs))
    return np.asarray(above / max(float(above[0]), LEAST_P), np.float64)


def _log_shares(above: Values) -> Values:
    """Return the logarithms of the intervals' shares from the survival function at their lower edges."""
    return np.log(np.maximum(-np.diff(np.append(above, 0.0)), LEAST_P))
