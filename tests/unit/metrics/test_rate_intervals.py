import numpy as np
import pytest

from orchestrator.domain.records import Window
from orchestrator.metrics.intervals.rates import attainment_interval, rate_interval

NS = 10**9
WINDOW = Window(5 * NS, 105 * NS)


def arrivals(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(WINDOW.start_ns, WINDOW.end_ns, count)


def test_random_arrivals_have_the_interval_of_a_poisson_count() -> None:
    found = rate_interval(arrivals(1000), None, WINDOW, requests=1000)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((10 - 0.62, 10 + 0.62), abs=0.25)


def test_what_lies_outside_the_window_does_not_count() -> None:
    inside = arrivals(500)
    outside = np.concatenate((inside, [0, WINDOW.start_ns - 1, WINDOW.end_ns, 300 * NS]))
    assert rate_interval(outside, None, WINDOW, requests=500) == rate_interval(inside, None, WINDOW, requests=500)


def test_weights_scale_the_rate() -> None:
    times = arrivals(500)
    one, three = (rate_interval(times, np.full(500, weight), WINDOW, requests=500) for weight in (1.0, 3.0))
    assert one is not None
    assert three is not None
    assert three.low == pytest.approx(3 * one.low)


def test_regular_arrivals_are_known_better_than_random_ones_and_bursts_worse() -> None:
    regular = np.linspace(WINDOW.start_ns, WINDOW.end_ns - 1, 777).astype(np.int64)
    bursts = np.repeat(arrivals(30), 26)
    widths = []
    for times in (regular, arrivals(777), bursts):
        found = rate_interval(times, None, WINDOW, requests=777)
        assert found is not None
        widths.append(found.high - found.low)
    assert widths[0] < widths[1] < widths[2] / 2


@pytest.mark.parametrize("times", [arrivals(9), np.empty(0, dtype=np.int64)])
def test_too_few_requests_have_no_interval(times: np.ndarray) -> None:
    assert rate_interval(times, None, WINDOW, requests=times.size) is None


def test_where_nothing_counts_nothing_is_claimed() -> None:
    assert rate_interval(arrivals(100), np.zeros(100), WINDOW, requests=100) is None


def test_a_promise_always_kept_is_not_certain_and_less_so_in_one_long_calm() -> None:
    met = np.ones(100, dtype=np.bool_)
    alone, calm = (attainment_interval(met, inflation=inflation) for inflation in (1.0, 10.0))
    assert alone is not None
    assert calm is not None
    assert (alone.low, alone.high) == pytest.approx((0.9638, 1.0), abs=1e-4)
    assert calm.low == pytest.approx(0.6915, abs=1e-4)


def test_misses_that_come_together_widen_the_interval() -> None:
    met = np.ones(1000, dtype=np.bool_)
    met[400:500] = False
    spread = np.random.default_rng(1).permutation(met)
    bunched, apart = (attainment_interval(one, inflation=1.0) for one in (met, spread))
    assert bunched is not None
    assert apart is not None
    assert bunched.high - bunched.low > 3 * (apart.high - apart.low)


def test_a_promise_to_nobody_has_no_interval() -> None:
    assert attainment_interval(np.empty(0, dtype=np.bool_), inflation=1.0) is None
