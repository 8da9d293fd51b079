"""The verdict on a rate that changes: it drifts over many arrivals, or it jumps between two states."""

import numpy as np

from workloads.model import MmppArrivals, PiecewiseArrivals
from workloads.profile.arrivals.counts import Floats
from workloads.profile.arrivals.grounds import Grounds
from workloads.profile.arrivals.model import Evidence, Verdict
from workloads.profile.arrivals.modulation import (
    Drift,
    Switching,
    constant_log_likelihood,
    fit_drift,
    fit_switching,
)

MIN_MEMORY_ARRIVALS = 20.0
MIN_CYCLES = 5.0
MODEL_BINS = 64


def judge_rate(counts: Floats, bin_s: float, grounds: Grounds, *, curve: PiecewiseArrivals) -> Verdict:
    """Weigh both accounts by BIC on `counts` in bins of `bin_s`.

    A rate of which nothing is known any more after `MIN_MEMORY_ARRIVALS` does not drift, it jumps, even where its
    states are more than two; of such jumps `MIN_CYCLES` must have been seen.
    """
    drift, switching = fit_drift(counts), fit_switching(counts)
    constant = constant_log_likelihood(counts)
    gain, gain_of_switching = (
        fit.log_likelihood - constant - 0.5 * fit.num_parameters * float(np.log(counts.size))
        for fit in (drift, switching)
    )
    evidence = (
        *grounds.evidence,
        Evidence(name="gain of drift", value=gain, says="log-likelihood a drifting rate wins over a constant one"),
        Evidence(name="gain of switching", value=gain_of_switching, says="the same for a rate with two states"),
        Evidence(name="memory", value=drift.memory_arrivals, says="arrivals over which a drifting rate is known"),
    )
    if max(gain, gain_of_switching) <= 0:
        return _untold("Gaps come in an order, yet neither a drifting nor a switching rate explains it.", evidence)
    if gain < gain_of_switching:
        return _switching(switching, bin_s, evidence)
    if drift.memory_arrivals >= MIN_MEMORY_ARRIVALS:
        return _drifting(drift, grounds, evidence, curve=curve, mean_rps=float(counts.mean()) / bin_s)
    if counts.size < MIN_CYCLES * sum(1.0 / leaving for leaving in switching.leaving):
        return _untold(
            "The rate changes, within few arrivals and seldom: more of it must be seen to tell how.", evidence
        )
    return _switching(switching, bin_s, evidence)


def _untold(sentence: str, evidence: tuple[Evidence, ...]) -> Verdict:
    return Verdict(kind="cannot tell", sentence=sentence, evidence=evidence, model=None)


def _drifting(
    drift: Drift, grounds: Grounds, evidence: tuple[Evidence, ...], *, curve: PiecewiseArrivals, mean_rps: float
) -> Verdict:
    inside = (
        "a Poisson process's"
        if grounds.is_locally_poisson
        else f"those of gamma gaps with a CV of {grounds.local_cv:.2f}"
    )
    return Verdict(
        kind="drifting poisson",
        sentence=(
            f"The rate drifts: what is known of it is out of date after some {drift.memory_arrivals / mean_rps:.3g} s. "
            f"Inside such stretches gaps are {inside}."
        ),
        evidence=evidence,
        model=_coarse(curve),
    )


def _switching(fitted: Switching, bin_s: float, evidence: tuple[Evidence, ...]) -> Verdict:
    low, high = (count / bin_s for count in fitted.counts_per_bin)
    low_s, high_s = (bin_s / leaving for leaving in fitted.leaving)
    return Verdict(
        kind="on/off",
        sentence=(
            f"The rate jumps between {low:.3g}/s for {low_s:.3g} s and {high:.3g}/s for {high_s:.3g} s at the mean."
        ),
        evidence=evidence,
        model=MmppArrivals(rates=(low, high), mean_stay_s=(low_s, high_s)),
    )


def _coarse(curve: PiecewiseArrivals) -> PiecewiseArrivals:
    factor = -(-len(curve.weights) // MODEL_BINS)
    weights = np.array(curve.weights[: len(curve.weights) // factor * factor]).reshape(-1, factor).mean(axis=1)
    if not weights.any():
        return curve
    return PiecewiseArrivals(bin_s=curve.bin_s * factor, weights=tuple(weights.tolist()), cv=curve.cv)
