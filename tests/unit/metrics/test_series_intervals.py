import numpy as np
import pytest
from scipy.signal import lfilter

from orchestrator.metrics.intervals.means import mean_interval
from orchestrator.metrics.intervals.order_statistics import quantile_interval, share_interval
from orchestrator.metrics.intervals.series import series_distribution
from orchestrator.metrics.percentiles import distribution


def dependent(n: int, seed: int = 1) -> np.ndarray:
    noise = np.sqrt(1 - 0.9**2) * np.random.default_rng(seed).standard_normal(n + 200)
    return np.exp(lfilter([1.0], [1.0, -0.9], noise)[200:])


def test_dependence_withholds_what_the_plain_count_would_report_and_says_what_it_needs() -> None:
    values = dependent(1000)
    found = series_distribution(values)
    assert distribution(values).p99 is not None
    assert (found.p99, found.count) == (None, 1000)
    assert found.needed["p99"] > 1000
    assert found.effective_count < 200
    assert found.p50 == distribution(values).p50


def test_as_many_values_as_were_needed_carry_the_percentile() -> None:
    needed = series_distribution(dependent(1000)).needed["p99"]
    assert series_distribution(dependent(2 * needed)).p99 is not None


def test_independent_values_of_a_short_window_keep_their_percentiles() -> None:
    found = series_distribution(np.random.default_rng(1).exponential(size=36))
    assert found.p90 is not None
    assert found.needed == {"p95": 72, "p99": 368, "p999": 3688}
    assert found.effective_count == 36
    assert set(found.intervals) == {"mean", "p50", "p90"}


def test_dependent_values_have_wider_intervals_than_the_same_values_shuffled() -> None:
    values = dependent(5000)
    shuffled = np.random.default_rng(2).permutation(values)
    for part in ("mean", "p50", "p90"):
        wide, narrow = (series_distribution(one).intervals[part] for one in (values, shuffled))
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_nothing_gives_nothing_and_equal_values_give_an_interval_of_no_width() -> None:
    empty = series_distribution(np.empty(0))
    assert (empty.mean, empty.p50, empty.effective_count, empty.intervals) == (None, None, None, {})
    assert empty.needed["p50"] == 6
    equal = series_distribution(np.full(40, 2.0))
    assert equal.intervals["p50"].low == equal.intervals["p50"].high == 2.0
    assert "mean" not in equal.intervals


def test_a_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        series_distribution(np.array([1.0, np.nan]))


def test_the_interval_of_the_median_of_many_independent_values_is_the_binomial_one() -> None:
    found = quantile_interval(np.arange(1.0, 10_001.0), 0.5, effective=10_000)
    assert found.low == pytest.approx(5000 - 98, abs=2)
    assert found.high == pytest.approx(5001 + 98, abs=2)


def test_an_interval_that_the_sample_only_just_carries_ends_at_its_extremes() -> None:
    found = quantile_interval(np.arange(1.0, 7.0), 0.5, effective=6)
    assert (found.low, found.high) == (1.0, 6.0)


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0.0, 0.0362), (100, 0.9638, 1.0), (50, 0.3983, 0.6017)])
def test_shares_have_the_interval_of_clopper_and_pearson(hits: int, low: float, high: float) -> None:
    found = share_interval(hits, effective=100)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_a_mean_of_skewed_values_reaches_further_to_the_side_of_the_tail() -> None:
    values = np.random.default_rng(3).lognormal(0, 1.5, 300)
    found = mean_interval(values)
    assert found is not None
    assert found.high - values.mean() > 1.2 * (values.mean() - found.low)


def test_too_few_values_have_no_interval_of_their_mean() -> None:
    assert mean_interval(np.arange(9.0)) is None
    assert mean_interval(np.ones(100)) is None
