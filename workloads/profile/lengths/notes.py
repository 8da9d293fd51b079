"""What to make of a length's distribution, in words."""

from collections.abc import Iterator, Sequence

from workloads.profile.lengths.counts import Counts
from workloads.profile.lengths.fitting import MIN_DISTINCT, MIN_REQUESTS
from workloads.profile.lengths.model import Fit
from workloads.profile.lengths.piles import Pile

MIN_FLOOR_SHARE = 0.01
MAX_LUMPS = 3
MAX_NEAR_KS = 0.05
MIN_P = 0.05
MANY_REQUESTS = 5000


def note_counts(counts: Counts, cap: Pile | None, lumps: Sequence[Pile]) -> Iterator[str]:
    """Say what lengths are special: 0, a cap, lumps, a floor."""
    positive = counts.between(1, float("inf"))
    num_zeros = counts.total - positive.total
    if num_zeros:
        yield f"{_requests(num_zeros, counts)} of length 0: counted in the quantiles, fitted by nothing"
    if cap is not None:
        yield (
            f"{_requests(cap.num_requests, counts)} at {_range(cap)} and {counts.number_above(cap.high)} beyond: "
            f"a cap, fitted as lengths of {cap.low} tokens or more"
        )
    for lump in lumps[:MAX_LUMPS]:
        yield (
            f"{_requests(lump.num_requests, counts)} at {_range(lump)}: a lump and no cap, since "
            f"{counts.number_above(lump.high)} are longer; no family has it"
        )
    shortest, at_shortest = (int(one[0]) if positive.total else 0 for one in (positive.tokens, positive.requests))
    if shortest > 1 and positive.tokens.size > 1 and at_shortest >= MIN_FLOOR_SHARE * counts.total:
        yield f"{_requests(at_shortest, counts)} at {shortest} tokens, the shortest: a floor, which families ignore"


def note_fits(fits: Sequence[Fit], fitted: Counts, num_positive: int) -> Iterator[str]:
    """Say how far families are to be trusted."""
    if not fits:
        yield (
            f"no family is fitted: that takes {MIN_REQUESTS} requests of {MIN_DISTINCT} different lengths below the cap"
        )
        return
    if fitted.total < num_positive:
        yield f"families are fitted to {fitted.total} of {num_positive} requests, drawn by the seed"
    nearest = fits[0]
    if nearest.ks > MAX_NEAR_KS:
        yield f"the best family by AIC, {nearest.family}, is {nearest.ks:.2f} away (KS): draw from the quantiles"
    tested = [fit for fit in fits if fit.bootstrap_p is not None]
    kept = [fit.family for fit in tested if fit.bootstrap_p is not None and fit.bootstrap_p > MIN_P]
    if tested and not kept:
        reason = "; so many requests reject any family" if fitted.total >= MANY_REQUESTS else ""
        yield (
            f"each of the {len(tested)} best families by AIC is rejected (bootstrap p at most {MIN_P}){reason}: "
            "go by distance and AIC; the quantiles are the control"
        )
    if kept:
        yield f"not rejected by the bootstrap: {', '.join(kept)}"


def _requests(number: int, counts: Counts) -> str:
    return f"{number} {'request' if number == 1 else 'requests'} ({100 * number / counts.total:.3g} %)"


def _range(pile: Pile) -> str:
    return f"{pile.low} tokens" if pile.low == pile.high else f"{pile.low} to {pile.high} tokens"
