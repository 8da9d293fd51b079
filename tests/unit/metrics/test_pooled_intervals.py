import numpy as np
import pytest

from orchestrator.metrics.intervals.pooled import pooled_distribution
from orchestrator.metrics.percentiles import distribution


def test_gaps_that_go_together_within_requests_count_for_fewer() -> None:
    generator = np.random.default_rng(1)
    levels = generator.lognormal(0, 0.5, 300)
    alike = pooled_distribution([np.full(50, level) for level in levels])
    apart = pooled_distribution([generator.lognormal(0, 0.5, 50) for _ in levels])
    assert alike.count == apart.count == 15_000
    assert alike.effective_count == pytest.approx(300, rel=0.25)
    assert apart.effective_count > 10_000
    assert (alike.p99, alike.needed["p99"] > 15_000) == (None, True)
    assert apart.p99 is not None


def test_all_values_weigh_alike_whatever_request_they_belong_to() -> None:
    clusters = [np.arange(float(size)) for size in (3, 1, 40, 0, 2, 9, 8, 7, 6, 5, 4, 11)]
    found = pooled_distribution(clusters)
    plain = distribution(np.concatenate(clusters))
    assert (found.mean, found.p50, found.count) == (plain.mean, plain.p50, 96)


def test_one_request_with_many_gaps_carries_no_percentile() -> None:
    found = pooled_distribution([np.random.default_rng(1).exponential(size=500)])
    assert (found.p50, found.effective_count, found.intervals) == (None, 1.0, {})
    assert found.needed["p50"] == 6 * 500


def test_no_values_are_absent_and_not_zero() -> None:
    found = pooled_distribution([np.empty(0), np.empty(0)])
    assert (found.mean, found.count, found.effective_count) == (None, 0, None)


def test_the_mean_of_clusters_is_covered_by_its_interval() -> None:
    held = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        clusters = [generator.exponential(size=20) * generator.lognormal(-0.125, 0.5) for _ in range(60)]
        interval = pooled_distribution(clusters).intervals["mean"]
        held += interval.low <= 1.0 <= interval.high
    assert held >= 42
