import numpy as np
import pytest
from scipy import stats

from workloads.model import FamilyName
from workloads.model.families import cdf, quantile, sf

EXAMPLES: dict[FamilyName, dict[str, float]] = {
    "lognormal": {"mu": 5.0, "sigma": 1.2},
    "gamma": {"shape": 0.7, "scale": 300.0},
    "weibull": {"shape": 0.6, "scale": 200.0},
    "pareto": {"alpha": 1.4, "x_min": 20.0},
    "exponential": {"mean": 250.0},
    "zipf": {"exponent": 1.8, "x_min": 3.0},
    "pareto_lognormal": {"weight": 0.2, "mu": 4.0, "sigma": 0.7, "alpha": 1.5, "x_min": 300.0},
}
SCIPY = {
    "lognormal": stats.lognorm(s=1.2, scale=np.exp(5.0)),
    "gamma": stats.gamma(0.7, scale=300.0),
    "weibull": stats.weibull_min(0.6, scale=200.0),
    "pareto": stats.pareto(1.4, scale=20.0),
    "exponential": stats.expon(scale=250.0),
}
TOKENS = np.array([0.0, 0.5, 3.0, 20.0, 21.0, 300.0, 5000.0, 1e6])
SHARES = np.array([0.001, 0.01, 0.3, 0.5, 0.9, 0.999, 0.99999])


@pytest.mark.parametrize("family", SCIPY)
def test_a_family_is_the_one_that_scipy_knows(family: FamilyName) -> None:
    np.testing.assert_allclose(cdf(family, EXAMPLES[family], TOKENS), SCIPY[family].cdf(TOKENS), rtol=1e-10)
    np.testing.assert_allclose(sf(family, EXAMPLES[family], TOKENS), SCIPY[family].sf(TOKENS), rtol=1e-10)
    np.testing.assert_allclose(quantile(family, EXAMPLES[family], SHARES), SCIPY[family].ppf(SHARES), rtol=1e-10)


def test_zipf_from_one_is_the_one_that_scipy_knows() -> None:
    parameters = {"exponent": 1.8, "x_min": 1.0}
    known = stats.zipf(1.8)
    lengths = np.array([1.0, 2.0, 50.0, 10_000.0])
    np.testing.assert_allclose(sf("zipf", parameters, lengths), known.sf(lengths), rtol=1e-9)
    np.testing.assert_array_equal(quantile("zipf", parameters, SHARES[:6]), known.ppf(SHARES[:6]))


def test_far_quantiles_of_zipf_leave_the_asked_share_above() -> None:
    parameters = {"exponent": 1.2, "x_min": 7.0}
    far = quantile("zipf", parameters, [0.95, 0.99, 0.999])
    assert far[-1] > 65_536
    np.testing.assert_allclose(sf("zipf", parameters, far), [0.05, 0.01, 0.001], rtol=1e-4)


@pytest.mark.parametrize("family", [name for name in EXAMPLES if name != "zipf"])
def test_quantiles_invert_the_distribution_function(family: FamilyName) -> None:
    np.testing.assert_allclose(
        cdf(family, EXAMPLES[family], quantile(family, EXAMPLES[family], SHARES)), SHARES, rtol=1e-6
    )


def test_a_mixture_is_its_two_families_by_weight() -> None:
    parameters = EXAMPLES["pareto_lognormal"]
    body = cdf("lognormal", {"mu": 4.0, "sigma": 0.7}, TOKENS)
    tail = cdf("pareto", {"alpha": 1.5, "x_min": 300.0}, TOKENS)
    np.testing.assert_allclose(cdf("pareto_lognormal", parameters, TOKENS), 0.8 * body + 0.2 * tail)


@pytest.mark.parametrize("family", EXAMPLES)
def test_ends_of_a_family(family: FamilyName) -> None:
    assert np.isinf(quantile(family, EXAMPLES[family], [1.0]))[0]
    assert quantile(family, EXAMPLES[family], [0.0])[0] < quantile(family, EXAMPLES[family], [0.5])[0]
    assert sf(family, EXAMPLES[family], [np.inf])[0] == 0
    assert cdf(family, EXAMPLES[family], [0.0])[0] == 0


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"mu": 1.0}, "expected the parameters mu, sigma of lognormal, seen mu"),
        ({"mu": 1.0, "sigma": 1.0, "scale": 1.0}, "seen mu, scale, sigma"),
        ({"mu": 1.0, "sigma": 0.0}, "expected sigma of lognormal between 0 and inf, seen 0.0"),
        ({"mu": float("nan"), "sigma": 1.0}, "expected mu of lognormal"),
    ],
)
def test_parameters_that_make_no_family_are_refused(parameters: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        quantile("lognormal", parameters, [0.5])


def test_a_probability_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match="expected probabilities from 0 to 1"):
        quantile("exponential", {"mean": 1.0}, [0.5, 1.5])
