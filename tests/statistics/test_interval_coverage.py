"""95 % intervals hold the truth about as often as they say, over 200 simulated windows of dependent requests."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from tests.bench.intervals import PHI, coverage, latencies, throughputs

RUNS = 200
BAND = (0.895, 0.995)  # of 200 true 95 % intervals, all but one in a thousand hold the truth in so many


def assert_covered(figures: dict[str, tuple[float | None, float]], *names: str, withheld: float) -> None:
    for name in names:
        covered, share = figures[name]
        assert share <= withheld, (name, share)
        assert covered is not None
        assert BAND[0] <= covered <= BAND[1], (name, covered)


def test_latencies_of_strongly_dependent_requests_are_covered_at_five_thousand() -> None:
    found = coverage(RUNS, partial(latencies, 5000, PHI))
    assert_covered(found, "p50", "p90", "p95", "p99", "mean", withheld=0.1)


def test_a_percentile_that_a_thousand_dependent_requests_cannot_carry_is_withheld() -> None:
    found = coverage(RUNS, partial(latencies, 1000, PHI))
    assert found["p99"][1] == 1.0
    assert_covered(found, "p50", "p90", "mean", withheld=0.02)


@pytest.mark.parametrize("n", [1000, 5000])
def test_throughput_of_dependent_requests_is_covered(n: int) -> None:
    assert_covered(coverage(RUNS, partial(throughputs, n, PHI)), "requests_per_s", "output_tokens_per_s", withheld=0.0)


@pytest.mark.parametrize("phi", [0.0, 0.5])
def test_less_dependent_latencies_with_an_infinite_variance_are_covered(phi: float) -> None:
    found = coverage(RUNS, partial(latencies, 1000, phi, margin=_pareto))
    assert_covered(found, "p50", "p90", "p95", "p99", withheld=0.1)


def test_a_short_window_of_independent_requests_keeps_its_percentiles_and_covers_them() -> None:
    assert_covered(coverage(RUNS, partial(latencies, 36, 0.0)), "p50", "p90", withheld=0.1)


def _pareto(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give normal scores a Pareto margin of index 1.5: finite mean, infinite variance."""
    return np.asarray(ndtr(-scores) ** (-1 / 1.5), dtype=np.float64)
