import numpy as np
import pytest
from scipy.stats import kendalltau

from orchestrator.metrics.trend import kendall_p_value


@pytest.mark.parametrize("count", [2, 5, 6, 10, 15])
def test_p_values_are_those_of_scipys_exact_test(count: int) -> None:
    generator = np.random.default_rng(count)
    for _ in range(20):
        values = [float(one) for one in generator.standard_normal(count)]
        assert kendall_p_value(values) == pytest.approx(kendalltau(range(count), values, method="exact").pvalue)


def test_ties_err_towards_no_trend() -> None:
    assert kendall_p_value([1.0] * 10) == 1.0
    assert kendall_p_value([1, 1, 2, 2, 3, 3]) > kendall_p_value([1, 2, 3, 4, 5, 6])


def test_a_straight_line_is_a_trend_either_way() -> None:
    assert kendall_p_value(range(10)) == kendall_p_value(range(10, 0, -1)) < 1e-5
