"""Which process arrivals come from. Three questions in order: Poisson? gaps in no order? then: drift or switching?

A question is answered no only where chance would give such a figure less than once in 1 / `ALPHA` traces.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from workloads.model import GridArrivals, PiecewiseArrivals, PoissonArrivals, RenewalArrivals
from workloads.profile.arrivals.counts import count_bins, count_windows, take_stretch
from workloads.profile.arrivals.curve import measure_curve
from workloads.profile.arrivals.gap_verdict import judge_gaps
from workloads.profile.arrivals.grounds import ALPHA, Grounds, gather_grounds
from workloads.profile.arrivals.model import Verdict
from workloads.profile.arrivals.rate_verdict import judge_rate
from workloads.trace import NS_PER_S, TraceFacts

MIN_REQUESTS = 100
MIN_GAP_STEPS = 2
STRETCH_REQUESTS = 40_000
MAX_BINS = 4096
COUNTS_PER_BIN = 4
MAX_NEARLY_ONE = 1.2


class Judgement(NamedTuple):
    """A verdict, the curve measured on the way, and the variance over mean that counts have while the rate holds."""

    verdict: Verdict
    curve: PiecewiseArrivals | GridArrivals
    dispersion: float


def judge_arrivals(arrival_ns: NDArray[np.int64], facts: TraceFacts, *, seed: int) -> Judgement:
    """Judge arrivals that lie on no grid coarser than their format's step, and measure their curve.

    Of more than `STRETCH_REQUESTS` the middle ones are judged; where they show one rate, counts over the whole decide
    whether it changes at larger scales.
    """
    refusal = _refusal(arrival_ns, facts)
    if refusal:
        verdict = Verdict(kind="cannot tell", sentence=refusal, evidence=(), model=None)
        return Judgement(verdict, measure_curve(arrival_ns, cv=1.0), 1.0)
    rng = np.random.Generator(np.random.PCG64(seed))
    grounds = gather_grounds(take_stretch(arrival_ns, facts.grid_ns, limit=STRETCH_REQUESTS, rng=rng))
    curve = measure_curve(arrival_ns, cv=grounds.local_cv)
    verdict = _judge_stretch(grounds, curve)
    if grounds.arrival_s.size < arrival_ns.size and verdict.kind in {"poisson", "renewal"}:
        verdict = _judge_whole(arrival_ns, grounds, verdict, curve=curve)
    return Judgement(verdict, curve, _dispersion(verdict, grounds))


def _dispersion(verdict: Verdict, grounds: Grounds) -> float:
    return grounds.gap_cv**2 if verdict.kind == "renewal" else grounds.local_cv**2


def _refusal(arrival_ns: NDArray[np.int64], facts: TraceFacts) -> str:
    if arrival_ns.size < MIN_REQUESTS:
        return f"{arrival_ns.size} requests are too few to tell: at least {MIN_REQUESTS} are needed."
    if int(arrival_ns[-1]) < MIN_GAP_STEPS * facts.grid_ns * (arrival_ns.size - 1):
        return f"Gaps are no longer than two time steps of {facts.grid_ns / NS_PER_S:g} s: too coarse to tell."
    return ""


def _judge_stretch(grounds: Grounds, curve: PiecewiseArrivals) -> Verdict:
    if grounds.is_poisson:
        sentence = "Arrivals are independent, at one rate: neither gaps nor counts differ from a Poisson process's."
        return Verdict(kind="poisson", sentence=sentence, evidence=grounds.evidence, model=PoissonArrivals())
    by_gaps = judge_gaps(grounds) if grounds.is_unordered else None
    if by_gaps is not None and not (grounds.is_locally_poisson and _is_nearly_exponential(by_gaps)):
        return by_gaps
    num_bins = int(np.clip(grounds.arrival_s.size // COUNTS_PER_BIN, 1, MAX_BINS))
    counts = count_bins(grounds.arrival_s, num_bins)
    return judge_rate(counts, float(grounds.arrival_s[-1]) / num_bins, grounds, curve=curve)


def _is_nearly_exponential(verdict: Verdict) -> bool:
    """Exponential gaps in no order cannot make uneven counts: then a rate that changes, however little, does."""
    model = verdict.model
    return isinstance(model, RenewalArrivals) and 1 / MAX_NEARLY_ONE < model.cv < MAX_NEARLY_ONE


def _judge_whole(
    arrival_ns: NDArray[np.int64], grounds: Grounds, verdict: Verdict, *, curve: PiecewiseArrivals
) -> Verdict:
    """Counts of gaps in no order have, in long windows, the squared gap CV as variance over mean (Cox & Lewis, 4.5)."""
    window_ns = -(-int(arrival_ns[-1]) // MAX_BINS)
    counts = count_windows(arrival_ns, window_ns).astype(np.float64)
    freedom = counts.size - 1
    ratio = float(counts.var(ddof=1) / counts.mean()) / max(grounds.gap_cv**2, 1.0)
    if stats.chi2.sf(ratio * freedom, freedom) >= ALPHA:
        return verdict
    return judge_rate(counts, window_ns / NS_PER_S, grounds, curve=curve)
