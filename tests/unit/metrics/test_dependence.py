import numpy as np
import pytest
from scipy.signal import lfilter

from orchestrator.metrics.intervals.autoregression import fit
from orchestrator.metrics.intervals.copula import normal_scores
from orchestrator.metrics.intervals.dependence import batch_means, variance_inflation


def dependent(phi: float, n: int = 20_000, seed: int = 1) -> np.ndarray:
    return lfilter([1.0], [1.0, -phi], np.random.default_rng(seed).standard_normal(n + 1000))[1000:]


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_the_inflation_of_a_first_order_process_is_known(phi: float) -> None:
    assert variance_inflation(dependent(phi)) == pytest.approx((1 + phi) / (1 - phi), rel=0.35)


def test_a_fit_finds_the_coefficients_that_made_the_series() -> None:
    made = lfilter([1.0], [1.0, -0.5, -0.3], np.random.default_rng(2).standard_normal(50_000))
    found = fit(made)
    assert found.coefficients[:2] == pytest.approx([0.5, 0.3], abs=0.03)
    assert found.autocorrelations(50)[:2] == pytest.approx([0.5 / 0.7, 0.5 * 0.5 / 0.7 + 0.3], abs=0.03)


def test_short_independent_series_are_seldom_called_dependent() -> None:
    generator = np.random.default_rng(3)
    assert np.mean([fit(generator.standard_normal(36)).order == 0 for _ in range(300)]) > 0.9


@pytest.mark.parametrize("series", [np.empty(0), np.ones(1), np.full(500, 0.1), np.array([1e9, 1e9])])
def test_what_does_not_vary_has_order_zero_and_is_not_inflated(series: np.ndarray) -> None:
    assert fit(series).order == 0
    assert variance_inflation(series) == 1.0


def test_alternation_is_not_taken_for_more_than_independence() -> None:
    assert variance_inflation(dependent(-0.8)) == 1.0


@pytest.mark.parametrize("count", [50, 400])
def test_a_series_that_repeats_itself_is_not_taken_for_one_with_a_long_memory(count: int) -> None:
    assert variance_inflation(np.arange(float(count)) % 7) < 1.5


def test_memory_beyond_the_autoregression_is_seen_by_long_batches() -> None:
    calm_and_storm = np.repeat(np.random.default_rng(4).standard_normal(100), 200)
    noisy = calm_and_storm + 3 * np.random.default_rng(5).standard_normal(20_000)
    assert variance_inflation(noisy) > 10


def test_batches_leave_out_the_start() -> None:
    means, size = batch_means(np.arange(11.0), most=5)
    assert size == 2
    assert means.tolist() == [1.5, 3.5, 5.5, 7.5, 9.5]


def test_normal_scores_do_not_care_for_the_margin_and_ties_share_theirs() -> None:
    series = dependent(0.8, 2000)
    plain, exponential = (normal_scores(one).indicator_inflation(0.9) for one in (series, np.exp(3 * series)))
    assert plain == exponential
    assert normal_scores(np.repeat(7.0, 50)).correlations.size == 0


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
def test_the_copula_gives_the_inflation_of_the_indicator_itself(p: float) -> None:
    series = dependent(0.9, 100_000)
    below = (series <= np.quantile(series, p)).astype(float)
    shown = below.reshape(-1, 250).mean(axis=1).var() * 250 / below.var()
    assert normal_scores(series).indicator_inflation(p) == pytest.approx(shown, rel=0.25)
