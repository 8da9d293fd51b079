import numpy as np
import pytest
from numpy.typing import NDArray

from workloads.profile.arrivals.model import Spectrum
from workloads.profile.arrivals.spectrum import MAX_POINTS, describe_spectrum
from workloads.trace import NS_PER_S, TraceFacts

EXACT = TraceFacts("made", "made", 1, 1)
SEEDS = 200


def draw(rate_rps: NDArray[np.float64], seed: int) -> NDArray[np.int64]:
    """Draw a Poisson process whose rate is constant in each second."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rate_rps)
    seconds = np.sort(np.repeat(np.arange(rate_rps.size), counts) + rng.random(counts.sum()))
    return ((seconds - seconds[0]) * NS_PER_S).astype(np.int64)


def described(rate_rps: NDArray[np.float64], seed: int, facts: TraceFacts = EXACT) -> Spectrum:
    spectrum = describe_spectrum(draw(rate_rps, seed), facts)
    assert spectrum is not None
    return spectrum


def waves(period_s: float, span_s: int, amplitude: float = 0.5) -> NDArray[np.float64]:
    return 5.0 * (1 + amplitude * np.sin(2 * np.pi * np.arange(span_s) / period_s))


def test_a_poisson_process_is_flat_at_twice_its_rate() -> None:
    spectrum = described(np.full(20_000, 5.0), 0)
    assert spectrum.bin_s == 1
    assert spectrum.null_density == pytest.approx(10, rel=0.02)
    assert np.mean(spectrum.density) == pytest.approx(spectrum.null_density, rel=0.1)


def test_a_poisson_process_keeps_to_its_band_and_below_the_false_alarm_level() -> None:
    spectra = [described(np.full(2000, 5.0), seed) for seed in range(SEEDS)]
    outside = [
        np.mean((np.array(one.density) < one.null_low) | (np.array(one.density) > one.null_high)) for one in spectra
    ]
    assert np.mean(outside) == pytest.approx(0.05, abs=0.015)
    assert sum(bool(one.peaks) for one in spectra) <= 0.03 * SEEDS


def test_a_period_that_was_seen_often_is_named() -> None:
    spectrum = described(waves(300, 3600), 1)
    named = [peak for peak in spectrum.peaks if peak.is_named]
    assert [peak.period_s for peak in named] == [pytest.approx(300, rel=0.05)]
    assert named[0].num_periods_seen == pytest.approx(12, rel=0.05)


def test_a_period_that_was_seen_twice_is_not_named() -> None:
    spectrum = described(waves(1800, 3600), 2)
    assert spectrum.peaks
    assert not any(peak.is_named for peak in spectrum.peaks)


def test_a_rate_that_wanders_has_peaks_but_seldom_a_named_period() -> None:
    named = 0
    for seed in range(40):
        steps = np.random.default_rng(1000 + seed).normal(0, 0.03, 3600)
        spectrum = described(5.0 * np.exp(np.cumsum(steps) - np.cumsum(steps).mean()), seed)
        named += any(peak.is_named for peak in spectrum.peaks)
    assert named <= 2


def test_a_grid_is_no_period() -> None:
    sizes = np.random.default_rng(3).poisson(10, 1200)
    stamps = np.repeat(np.arange(sizes.size), sizes).astype(np.int64) * 3 * NS_PER_S
    spectrum = describe_spectrum(stamps, TraceFacts("made", "made", 1_000_000, 3 * NS_PER_S))
    assert spectrum is not None
    assert spectrum.bin_s == 3
    assert spectrum.null_density == pytest.approx(2 * 10 / 3 * 9, rel=0.05)
    assert not spectrum.peaks


def test_a_long_trace_has_wider_bins_and_few_points() -> None:
    arrivals = (np.arange(200_000) * NS_PER_S).astype(np.int64)
    spectrum = describe_spectrum(arrivals, EXACT)
    assert spectrum is not None
    assert spectrum.bin_s == pytest.approx(200_000 / 2**16, rel=1e-3)
    assert len(spectrum.density) <= MAX_POINTS


def test_too_short_a_trace_has_no_spectrum() -> None:
    assert describe_spectrum(draw(np.full(30, 5.0), 4), EXACT) is None
