import numpy as np
import pytest

from workloads.profile.arrivals.change_points import find_change_points
from workloads.profile.arrivals.curve import MAX_BINS, measure_curve, smooth_counts
from workloads.trace import NS_PER_S

SEEDS = 200


def test_a_poisson_process_has_a_flat_curve() -> None:
    flat = 0
    for seed in range(SEEDS):
        counts = np.random.default_rng(seed).poisson(5.0, 1000).astype(np.float64)
        flat += int(np.ptp(smooth_counts(counts, noise=1.0)) < 0.5)
    assert flat >= 0.9 * SEEDS


def test_the_curve_loses_just_what_counting_adds() -> None:
    rng = np.random.default_rng(0)
    rate = np.repeat(rng.gamma(2.0, 5.0, 256), 8)
    counts = rng.poisson(rate).astype(np.float64)
    smooth = smooth_counts(counts, noise=1.0)
    assert smooth.mean() == pytest.approx(counts.mean())
    assert smooth.min() >= 0
    for width in (1, 4, 16, 64):
        sums, of_curve = (values.reshape(-1, width).sum(axis=1) for values in (counts, smooth))
        assert of_curve.var() + of_curve.mean() == pytest.approx(sums.var(), rel=0.05)


def test_bins_are_no_more_than_a_page_holds_and_no_shorter_than_a_second() -> None:
    arrivals = np.arange(0, 20_000, 3, dtype=np.int64) * NS_PER_S
    long = measure_curve(arrivals, cv=1.0)
    assert len(long.weights) <= MAX_BINS
    assert long.bin_s == pytest.approx(arrivals[-1] / NS_PER_S / MAX_BINS, rel=1e-3)
    assert measure_curve(arrivals[:100], cv=1.0).bin_s == 1.0


def test_a_homogeneous_process_has_no_change_points() -> None:
    claimed = sum(bool(points(np.random.default_rng(seed).exponential(0.2, 3000))) for seed in range(80))
    assert claimed <= 4


def test_a_step_of_the_rate_is_found_where_it_is() -> None:
    rng = np.random.default_rng(1)
    slow, fast = rng.exponential(1.0, 500), rng.exponential(0.5, 1000)
    found = points(np.concatenate([slow, fast]))
    assert len(found) == 1
    assert found[0].at_s == pytest.approx(slow.sum(), abs=25)
    assert found[0].rate_before_rps == pytest.approx(1.0, rel=0.15)
    assert found[0].rate_after_rps == pytest.approx(2.0, rel=0.15)


def points(gaps_s: np.ndarray) -> tuple:
    arrival_ns = (np.cumsum(gaps_s) * NS_PER_S).astype(np.int64)
    return find_change_points(arrival_ns - arrival_ns[0], step_ns=1, dispersion=1.0)
