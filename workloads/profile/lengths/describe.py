"""The distribution of one length: quantiles, caps, families, tail, and what to make of them in words."""

import numpy as np
from numpy.typing import NDArray

from workloads.profile.lengths.counts import Counts, count_lengths, sample_counts
from workloads.profile.lengths.fitting import fit_families
from workloads.profile.lengths.model import Cap, LengthDistribution
from workloads.profile.lengths.notes import note_counts, note_fits
from workloads.profile.lengths.piles import Pile, find_cap, find_lumps
from workloads.profile.lengths.quantiles import tabulate_quantiles
from workloads.profile.lengths.tails import describe_tail

MAX_FITTED = 50_000
NUM_BOOTSTRAPS = 39
NUM_TESTED = 3


def describe_lengths(
    tokens: NDArray[np.int32], *, seed: int, num_bootstraps: int = NUM_BOOTSTRAPS
) -> LengthDistribution | None:
    """Describe token counts of answered requests; None where there are none.

    Quantiles, caps and the tail are of all requests, families of at most 50,000 drawn by `seed`. Requests of length 0
    are in the quantiles and fitted by nothing. `num_bootstraps` samples test each of the three families nearest by AIC.

    Raises:
        ValueError: a length is negative.
    """
    if tokens.size == 0:
        return None
    if tokens.min() < 0:
        raise ValueError(f"expected lengths of 0 tokens or more, seen {tokens.min()}")
    counts = count_lengths(tokens)
    positive = counts.between(1, np.inf)
    pile = find_cap(positive)
    cap = pile.low if pile is not None else None
    sampling, testing, tail_testing = (np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(3))
    fitted = sample_counts(positive, MAX_FITTED, generator=sampling)
    fits = fit_families(fitted, cap, generator=testing, num_bootstraps=num_bootstraps, num_tested=NUM_TESTED)
    lumps = [lump for lump in find_lumps(positive) if cap is None or lump.high < cap]
    return LengthDistribution(
        num_requests=counts.total,
        quantiles=tabulate_quantiles(counts),
        caps=_caps(counts, pile),
        fits=fits,
        tail=describe_tail(positive, cap, generator=tail_testing),
        num_fitted=fitted.total if fits else 0,
        notes=(*note_counts(counts, pile, lumps), *note_fits(fits, fitted, positive.total)),
    )


def _caps(counts: Counts, pile: Pile | None) -> tuple[Cap, ...]:
    if pile is None:
        return ()
    num_requests = counts.number_above(pile.low - 1)
    return (Cap(tokens=pile.low, num_requests=num_requests, share=num_requests / counts.total),)
