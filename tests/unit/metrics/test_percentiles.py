import numpy as np
import pytest

from orchestrator.metrics.percentiles import distribution, highest_percentile, quantile, requests_needed


@pytest.mark.parametrize(("p", "needed"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688), (0.1, 36)])
def test_the_rule_gives_the_published_sample_sizes(p: float, needed: int) -> None:
    assert requests_needed(p) == needed
    assert max(p, 1 - p) ** needed <= 0.025 < max(p, 1 - p) ** (needed - 1)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, -0.1])
def test_a_quantile_outside_the_open_unit_interval_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="strictly between"):
        requests_needed(p)


@pytest.mark.parametrize(("p", "needed"), [(0.5, 6), (0.9, 36), (0.99, 368)])
def test_one_value_too_few_gives_no_percentile(p: float, needed: int) -> None:
    assert quantile([1.0] * (needed - 1), p) is None
    assert quantile([1.0] * needed, p) == 1.0


def test_the_estimator_is_hyndman_fan_type_7() -> None:
    assert quantile(range(1, 41), 0.9) == pytest.approx(36.1)  # h = 39 * 0.9 = 35.1: between the 36th and 37th value


def test_an_empty_sample_has_no_mean_rather_than_zero() -> None:
    empty = distribution([])
    assert (empty.mean, empty.p50, empty.count) == (None, None, 0)


def test_a_thin_sample_keeps_its_mean_and_count() -> None:
    thin = distribution([1.0, 2.0, 6.0])
    assert (thin.mean, thin.p50, thin.count) == (3.0, None, 3)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        distribution([1.0, bad])


@pytest.mark.parametrize(("count", "level"), [(5, None), (6, 0.5), (36, 0.9), (72, 0.95), (368, 0.99), (9999, 0.99)])
def test_the_highest_percentile_follows_the_rule(count: int, level: float | None) -> None:
    assert highest_percentile(count) == level


def test_the_sample_range_covers_the_true_quantile_in_at_least_95_percent() -> None:
    generator = np.random.default_rng(1)
    samples = generator.exponential(size=(20_000, requests_needed(0.9)))
    true = -np.log(0.1)
    covered = (samples.min(axis=1) <= true) & (true <= samples.max(axis=1))
    assert covered.mean() > 0.95
