"""The spectrum of arrival counts against two nulls: a Poisson process, whose density is flat, and a rate that drifts.

Welch's estimate (IEEE Transactions on Audio and Electroacoustics 15 (1967)) for the picture, the periodogram for peaks.
One-sided densities of counts a bin, in counts^2 / Hz: a Poisson process of `rate` has 2 x rate x bin^2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from workloads.profile.arrivals.background import fit_background
from workloads.profile.arrivals.counts import Floats, count_windows
from workloads.profile.arrivals.model import Peak, Spectrum
from workloads.trace import NS_PER_S, TraceFacts

MAX_BINS = 2**16
MIN_BINS = 64
MIN_COUNTS = 100
NUM_SEGMENTS = 4
MAX_POINTS = 512
FALSE_ALARM = 0.01
MIN_PERIODS = 3.0
MAX_PEAKS = 6
MIN_DISTANCE_LOG = float(np.log(1.5))
ROUNDING = 1e-9
HANN_OVERLAP = 1 / 36  # squared correlation of Hann windows that overlap by half (Welch 1967)
BAND = (0.025, 0.975)


class Periodogram(NamedTuple):
    """Frequencies above 0 in Hz, and the density at each."""

    frequency_hz: Floats
    density: Floats


def describe_spectrum(arrival_ns: NDArray[np.int64], facts: TraceFacts) -> Spectrum | None:
    """Describe the spectrum of counts in at most `MAX_BINS` bins of at least 1 s and of whole time steps.

    None for fewer than `MIN_BINS` bins or `MIN_COUNTS` requests: chi-square bands mean nothing there.
    """
    bin_ns = _bin_ns(int(arrival_ns[-1]), facts)
    is_grid = facts.grid_ns > facts.resolution_ns
    counts = count_windows(arrival_ns + (facts.grid_ns // 2 if is_grid else 0), bin_ns).astype(np.float64)
    if counts.size < MIN_BINS or arrival_ns.size < MIN_COUNTS:
        return None
    bin_s = bin_ns / NS_PER_S
    null = 2.0 * float(counts.mean()) * bin_s
    welch, freedom = _welch(counts, bin_s)
    low, high = (null * float(stats.chi2.ppf(share, freedom)) / freedom for share in BAND)
    fine = _periodogram(counts, bin_s)
    thin = _thinned(welch)
    return Spectrum(
        bin_s=bin_s,
        frequency_hz=tuple(thin.frequency_hz.tolist()),
        density=tuple(thin.density.tolist()),
        null_density=null,
        null_low=low,
        null_high=high,
        false_alarm_density=null * highest_by_chance(fine.density.size),
        peaks=_peaks(fine, null, span_s=counts.size * bin_s),
        notes=_notes(bin_s, facts, is_grid=is_grid),
    )


def highest_by_chance(num_frequencies: int) -> float:
    """Return what the largest of so many unit exponential ordinates passes once in 1 / `FALSE_ALARM` traces.

    Schuster's test (1898) with a known variance.
    """
    return float(-np.log(-np.expm1(np.log1p(-FALSE_ALARM) / num_frequencies)))


def chance_of_highest(ratio: float, num_frequencies: int) -> float:
    """Return the chance that the largest of so many unit exponential ordinates is above `ratio`."""
    return float(-np.expm1(num_frequencies * np.log1p(-np.exp(-max(ratio, 1e-12)))))


def _bin_ns(span_ns: int, facts: TraceFacts) -> int:
    """Bins of whole steps have no line at the step's own frequency: a grid is no period."""
    smallest = max(NS_PER_S, -(-span_ns // MAX_BINS))
    return -(-smallest // facts.grid_ns) * facts.grid_ns


def _periodogram(counts: Floats, bin_s: float) -> Periodogram:
    frequency_hz, density = signal.periodogram(counts, fs=1 / bin_s, detrend="constant")
    stop = frequency_hz.size - (counts.size % 2 == 0)
    return Periodogram(frequency_hz[1:stop], density[1:stop])


def _welch(counts: Floats, bin_s: float) -> tuple[Periodogram, float]:
    """Average segments that overlap by half; the second value is the chi-square's equivalent degrees of freedom."""
    size = 1 << (counts.size // NUM_SEGMENTS).bit_length() - 1
    frequency_hz, density = signal.welch(counts, fs=1 / bin_s, nperseg=size, detrend="constant")
    segments = 1 + (counts.size - size) // (size // 2)
    freedom = 2.0 * segments / (1 + 2 * HANN_OVERLAP * (segments - 1) / segments)
    return Periodogram(frequency_hz[1:-1], density[1:-1]), freedom


def _thinned(welch: Periodogram) -> Periodogram:
    """Keep at most `MAX_POINTS` points, evenly on a log axis; a point stands for itself, not for its neighbours."""
    places = np.unique(np.rint(np.geomspace(1, welch.density.size, MAX_POINTS)).astype(np.int64)) - 1
    return Periodogram(welch.frequency_hz[places], welch.density[places])


def _peaks(fine: Periodogram, null: float, *, span_s: float) -> tuple[Peak, ...]:
    """Find ordinates above the false-alarm level, no two of them within a factor 1.5 of frequency."""
    candidates = np.flatnonzero(fine.density / null > highest_by_chance(fine.density.size))
    if not candidates.size:
        return ()
    background = np.maximum(fit_background(fine.frequency_hz, fine.density), null)
    ranked = candidates[np.argsort(-fine.density[candidates] / background[candidates])]
    return tuple(_peak(fine, place, null, span_s=span_s) for place in _spaced(fine.frequency_hz, ranked))


def _spaced(frequency_hz: Floats, ranked: NDArray[np.int64]) -> list[int]:
    kept: list[int] = []
    while ranked.size and len(kept) < MAX_PEAKS:
        kept.append(int(ranked[0]))
        distance = np.abs(np.log(frequency_hz[ranked] / frequency_hz[kept[-1]]))
        ranked = ranked[distance > MIN_DISTANCE_LOG]
    return kept


def _peak(fine: Periodogram, place: int, null: float, *, span_s: float) -> Peak:
    period_s, density = 1.0 / float(fine.frequency_hz[place]), float(fine.density[place])
    background = float(fit_background(fine.frequency_hz, fine.density, without=place)[place])
    poisson_p = chance_of_highest(density / null, fine.density.size)
    drift_p = chance_of_highest(density / max(null, background), fine.density.size)
    return Peak(
        period_s=period_s,
        density=density,
        false_alarm_p=poisson_p,
        drift_false_alarm_p=drift_p,
        num_periods_seen=span_s / period_s,
        is_named=max(poisson_p, drift_p) < FALSE_ALARM and span_s / period_s >= MIN_PERIODS * (1 - ROUNDING),
    )


def _notes(bin_s: float, facts: TraceFacts, *, is_grid: bool) -> tuple[str, ...]:
    notes = [
        f"counts in bins of {bin_s:g} s: the Poisson null is 2 x rate x bin^2",
        "a drifting rate raises low frequencies by itself; a period is named only where it also stands out from that",
    ]
    if is_grid:
        notes.append(f"bins are whole cells of the {facts.grid_ns / NS_PER_S:g} s grid, which is no period")
    return tuple(notes)
