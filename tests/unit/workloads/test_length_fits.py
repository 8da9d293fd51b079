import numpy as np
import pytest
from scipy import stats

from workloads.model import FamilyName
from workloads.model.families import quantile
from workloads.profile.lengths.counts import Counts, count_lengths
from workloads.profile.lengths.distances import measure_ad, measure_ks
from workloads.profile.lengths.families import free_numbers, parameters_of, starting_points
from workloads.profile.lengths.fitting import (
    FAMILY_NAMES,
    Resolution,
    bootstrap_fit,
    fit_families,
    fit_family,
    maximise_likelihood,
)
from workloads.profile.lengths.intervals import grouped_intervals, interval_shares, log_likelihood, single_intervals
from workloads.profile.lengths.model import Fit

TRUE: dict[FamilyName, dict[str, float]] = {
    "lognormal": {"mu": 5.0, "sigma": 1.2},
    "gamma": {"shape": 2.0, "scale": 150.0},
    "weibull": {"shape": 0.8, "scale": 200.0},
    "pareto": {"alpha": 1.4, "x_min": 19.5},
    "exponential": {"mean": 250.0},
    "zipf": {"exponent": 1.8, "x_min": 3.0},
    "pareto_lognormal": {"weight": 0.2, "mu": 4.0, "sigma": 0.5, "alpha": 1.5, "x_min": 299.5},
}


def draw(family: FamilyName, seed: int, size: int = 8_000) -> np.ndarray:
    drawn = quantile(family, TRUE[family], np.random.default_rng(seed).random(size))
    return np.clip(np.rint(drawn), 1, 1e6).astype(np.int32)


def views(counts: Counts, cap: int | None = None) -> Resolution:
    return Resolution(single_intervals(counts, cap), grouped_intervals(counts, cap))


def fits_of(tokens: np.ndarray, *, cap: int | None = None, num_bootstraps: int = 0, num_tested: int = 1) -> list[Fit]:
    generator = np.random.default_rng(0)
    return list(
        fit_families(
            count_lengths(tokens), cap, generator=generator, num_bootstraps=num_bootstraps, num_tested=num_tested
        )
    )


@pytest.mark.parametrize("family", TRUE)
def test_the_family_that_lengths_were_drawn_from_is_found(family: FamilyName) -> None:
    fits = fits_of(draw(family, 1))
    same = next(fit for fit in fits if fit.family == family)
    assert same.aic - fits[0].aic < 8, [(fit.family, fit.aic) for fit in fits[:3]]
    assert same.ks < 0.02
    assert same.parameters == pytest.approx(TRUE[family], rel=0.15)


@pytest.mark.parametrize("family", ["lognormal", "gamma", "weibull", "exponential"])
def test_a_cap_does_not_bend_the_fit(family: FamilyName) -> None:
    cut = np.minimum(draw(family, 2), 300)
    parameters = fit_family(family, views(count_lengths(cut), 300)).parameters
    assert parameters == pytest.approx(TRUE[family], rel=0.06)


@pytest.mark.parametrize("family", TRUE)
def test_grouping_loses_nothing_of_the_likelihood(family: FamilyName) -> None:
    both = views(count_lengths(draw(family, 3, 3000)))
    starts = starting_points(family, both.grouped)
    grouped = maximise_likelihood(family, both.grouped, starts=starts)
    single = maximise_likelihood(family, both.single, starts=[*starts, grouped])
    lost = log_likelihood(family, single, both.single) - log_likelihood(family, grouped, both.single)
    assert lost < (5 if family == "pareto_lognormal" else 0.1)


def test_the_likelihood_is_of_whole_counts() -> None:
    tokens = np.array([1, 1, 4, 9], np.int32)
    known = stats.lognorm(s=1.2, scale=np.exp(5.0))
    expected = 2 * np.log(known.cdf(1.5)) + np.log(np.diff(known.cdf([3.5, 4.5]))[0])
    capped = single_intervals(count_lengths(tokens), 9)
    reached = log_likelihood("lognormal", TRUE["lognormal"], capped)
    assert reached == pytest.approx(expected + np.log(known.sf(8.5)))


def test_shares_of_intervals_add_up_to_one() -> None:
    for family in FAMILY_NAMES:
        shares = interval_shares(family, TRUE[family], grouped_intervals(count_lengths(draw(family, 4)), None))
        assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("family", TRUE)
def test_free_numbers_and_parameters_map_both_ways(family: FamilyName) -> None:
    free = free_numbers(family, TRUE[family])
    assert parameters_of(family, free, TRUE[family].get("x_min", 1.0)) == pytest.approx(TRUE[family])


def test_distances_of_two_hand_written_distributions() -> None:
    intervals = single_intervals(count_lengths(np.array([2, 2, 3, 4], np.int32)), None)
    shares = np.array([0.0, 0.25, 0.25, 0.5, 0.0])
    assert measure_ks(intervals, shares) == pytest.approx(0.25)
    assert measure_ad(intervals, shares) == pytest.approx(0.25**2 * 0.25 / (0.25 * 0.75) + 0.25**2 * 0.25 / 0.25)
    assert measure_ad(intervals, np.array([0.0, 0.0, 0.5, 0.5, 0.0])) is None


def test_a_bootstrap_keeps_the_true_family_and_rejects_a_wrong_one() -> None:
    fits = fits_of(draw("gamma", 5, 3000), num_bootstraps=19, num_tested=5)
    p = {fit.family: fit.bootstrap_p for fit in fits}
    assert p["gamma"] is not None
    assert p["gamma"] > 0.05
    assert p["lognormal"] == p["exponential"] == 1 / 20


def test_bootstrap_p_of_a_true_family_is_spread_evenly() -> None:
    p = []
    for seed in range(100, 140):
        both = views(count_lengths(draw("exponential", seed, 400)))
        fit = bootstrap_fit(
            fit_family("exponential", both), both.grouped, generator=np.random.default_rng(seed), num_bootstraps=19
        )
        p.append(fit.bootstrap_p)
    assert 0.4 < np.mean(p) < 0.65
    assert np.mean(np.array(p) <= 0.1) < 0.25


def test_too_few_lengths_are_fitted_by_nothing() -> None:
    assert fits_of(np.array([5] * 9, np.int32)) == []
    assert fits_of(np.array([5, 6] * 50, np.int32)) == []
    assert fits_of(np.array([5, 6, 7] * 3 + [100] * 50, np.int32), cap=100) == []
