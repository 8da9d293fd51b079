"""The verdict on gaps that come in no order: one law of gaps, or a Poisson process that is switched on and off."""

from workloads.model import MmppArrivals, RenewalArrivals
from workloads.profile.arrivals.gap_laws import (
    GapLaw,
    Interrupted,
    fit_gamma,
    fit_interrupted,
    fit_lognormal,
    fit_weibull,
)
from workloads.profile.arrivals.grounds import Grounds
from workloads.profile.arrivals.model import Evidence, Verdict

MIN_ARRIVALS_PER_STAY = 3.0
CLEAR_BIC = 10.0


def judge_gaps(grounds: Grounds) -> Verdict:
    """Choose between renewal and on/off; an on/off process without a trickle is a renewal process, its law tells.

    A lognormal law is fitted only so that its gaps are not taken for those of an on/off process.
    """
    gaps_s = grounds.gaps_s[grounds.gaps_s > 0]
    laws = {"gamma": fit_gamma(gaps_s), "weibull": fit_weibull(gaps_s), "lognormal": fit_lognormal(gaps_s)}
    best = min(laws, key=lambda name: laws[name].bic(gaps_s.size))
    interrupted = fit_interrupted(gaps_s)
    gain = laws[best].bic(gaps_s.size) - interrupted.law.bic(gaps_s.size)
    evidence = (
        *grounds.evidence,
        Evidence(name="gap CV of the fitted law", value=laws[best].cv, says=f"{best} gaps by maximum likelihood"),
        Evidence(name="gain of on/off gaps", value=gain, says="BIC that the gaps of an on/off process win over it"),
    )
    if gain > CLEAR_BIC and interrupted.arrivals_per_stay >= MIN_ARRIVALS_PER_STAY:
        return _switched(interrupted, evidence)
    return _independent(best, laws, grounds, evidence)


def _independent(best: str, laws: dict[str, GapLaw], grounds: Grounds, evidence: tuple[Evidence, ...]) -> Verdict:
    """Name the law; the model has the nearer of the two families that can be drawn."""
    is_gamma = laws["gamma"].log_likelihood >= laws["weibull"].log_likelihood
    cv = grounds.gap_cv if best == "lognormal" else laws[best].cv
    return Verdict(
        kind="renewal",
        sentence=f"Gaps are independent of each other, all of one {best} law with a CV of {cv:.2f}.",
        evidence=evidence,
        model=RenewalArrivals(family="gamma" if is_gamma else "weibull", cv=cv),
    )


def _switched(fitted: Interrupted, evidence: tuple[Evidence, ...]) -> Verdict:
    return Verdict(
        kind="on/off",
        sentence=(
            f"Arrivals come at {fitted.rate_rps:.3g}/s in stays of {fitted.on_s:.3g} s at the mean, "
            f"and not at all for {fitted.off_s:.3g} s in between."
        ),
        evidence=evidence,
        model=MmppArrivals(rates=(0.0, fitted.rate_rps), mean_stay_s=(fitted.off_s, fitted.on_s)),
    )
