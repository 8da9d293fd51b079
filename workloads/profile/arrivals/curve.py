"""The rate over time without what counting adds to it, so that a process drawn from it is as uneven as the trace.

Counts are taken apart into ratios of neighbours on dyadic scales (the multiplicative Haar form of Kolaczyk, Bayesian
multi-scale models for Poisson processes, JASA 94 (1999)). On each scale all ratios are shrunk by one factor, such that
their energy is the counts' less a Poisson process's: drawing adds that part again.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from workloads.model import GridArrivals, PiecewiseArrivals
from workloads.profile.arrivals.counts import Floats, count_windows
from workloads.trace import NS_PER_S

MAX_BINS = 4096
MAX_CELLS = 16384
ALPHA = 0.004
ROUNDS = 8
DIGITS = 6


def measure_curve(arrival_ns: NDArray[np.int64], *, cv: float) -> PiecewiseArrivals:
    """Measure the rate in at most `MAX_BINS` bins of at least 1 s; `cv` is that of gaps inside them."""
    bin_ns = max(NS_PER_S, -(-int(arrival_ns[-1]) // MAX_BINS))
    counts = count_windows(arrival_ns, bin_ns).astype(np.float64)
    weights = smooth_counts(counts, noise=cv**2) if counts.size else np.ones(1)
    return PiecewiseArrivals(bin_s=bin_ns / NS_PER_S, weights=_rounded(weights), cv=cv)


def measure_batches(arrival_ns: NDArray[np.int64], step_ns: int) -> GridArrivals:
    """Measure batch sizes on a grid, in its first `MAX_CELLS` cells; they lose what chance adds as rates do."""
    cells = np.rint(arrival_ns / step_ns).astype(np.int64)
    counts = np.bincount(cells[cells < MAX_CELLS]).astype(np.float64)
    return GridArrivals(step_s=step_ns / NS_PER_S, weights=_rounded(smooth_counts(counts, noise=1.0)))


def smooth_counts(counts: Floats, *, noise: float) -> Floats:
    """Return expected counts; `noise` is the variance over mean that drawing from them will add."""
    size = 1 << (counts.size - 1).bit_length()
    levels = [np.pad(counts, (0, size - counts.size), mode="symmetric")]
    while levels[-1].size > 1:
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    rates = levels[-1]
    for children in reversed(levels[:-1]):
        rates = _split(rates, children, noise=noise)
    return np.asarray(rates[: counts.size])


def _split(parents: Floats, children: Floats, *, noise: float) -> Floats:
    """Share out each parent's rate between its halves."""
    left, right = children[0::2], children[1::2]
    sums, differences = left + right, left - right
    ratios = np.divide(differences, sums, out=np.zeros_like(sums), where=sums > 0)
    energy = _excess(differences, sums, noise=noise)
    shares = _scaled(ratios, parents, energy) if energy > 0 else np.zeros_like(ratios)
    return np.column_stack([parents * (1 + shares) / 2, parents * (1 - shares) / 2]).ravel()


def _excess(differences: Floats, sums: Floats, *, noise: float) -> float:
    """Return the energy of differences beyond the noise; 0 where chance explains it."""
    seen = sums > 0
    index = float((differences[seen] ** 2 / (noise * sums[seen])).sum())
    if stats.chi2.sf(index, int(seen.sum())) >= ALPHA:
        return 0.0
    return max(0.0, float((differences**2).sum() - noise * sums.sum()))


def _scaled(ratios: Floats, parents: Floats, energy: float) -> Floats:
    """Scale ratios to the energy; a ratio ends at 1, where all of a parent lies in one half."""
    factor, shares = 1.0, ratios
    for _ in range(ROUNDS):
        factor *= float(np.sqrt(energy / ((shares * parents) ** 2).sum()))
        shares = np.clip(factor * ratios, -1.0, 1.0)
    return np.asarray(shares)


def _rounded(weights: Floats) -> tuple[float, ...]:
    return tuple(float(f"{weight:.{DIGITS}g}") for weight in weights / weights.mean())
