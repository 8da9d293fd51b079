"""Counts of arrivals in windows laid from the first arrival. Sorted arrivals are searched, never walked through."""

import numpy as np
from numpy.typing import NDArray

from workloads.trace import NS_PER_S

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def count_windows(arrival_ns: NDArray[np.int64], window_ns: int) -> Counts:
    """Count sorted arrivals in windows of `window_ns`; the last, partly covered window is left out."""
    num_windows = int(arrival_ns[-1]) // window_ns
    edges = np.arange(num_windows + 1, dtype=np.int64) * window_ns
    return np.diff(np.searchsorted(arrival_ns, edges))


def count_bins(arrival_s: Floats, num_bins: int) -> Floats:
    """Count sorted arrivals, seconds from the first one, in equal bins that cover them from first to last."""
    edges = np.linspace(0.0, arrival_s[-1], num_bins + 1)
    places = np.searchsorted(arrival_s, edges)
    places[-1] = arrival_s.size
    return np.diff(places).astype(np.float64)


def merge_windows(counts: Counts, factor: int) -> Counts:
    """Add up each `factor` neighbours; a rest at the end is left out."""
    num_windows = counts.size // factor
    return np.asarray(counts[: num_windows * factor].reshape(num_windows, factor).sum(axis=1))


def take_stretch(arrival_ns: NDArray[np.int64], step_ns: int, *, limit: int, rng: np.random.Generator) -> Floats:
    """Return the middle `limit` arrivals, seconds from the first of them, spread evenly inside their time steps.

    Spreading leaves a Poisson process one, and keeps requests of the same recorded instant apart.
    """
    start = max(0, (arrival_ns.size - limit) // 2)
    stretch = arrival_ns[start : start + limit].astype(np.float64) + rng.random(min(limit, arrival_ns.size)) * step_ns
    stretch.sort()
    return np.asarray((stretch - stretch[0]) / NS_PER_S)
