"""Windows of known course: how often noise is called a drift or a transient, how often a planted one is found."""

import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator.metrics.steadiness import drift_p_value, transient
from tests.queue_model import Load, monitored

Floats = NDArray[np.float64]
RUNS = 200


def ar1(generator: np.random.Generator, count: int, phi: float) -> Floats:
    """Draw an AR(1) process of unit variance, its start thrown away, as lognormal latencies around 1."""
    steps = generator.standard_normal(count + 200) * np.sqrt(1 - phi**2)
    values = np.zeros(count + 200)
    for at in range(1, values.size):
        values[at] = phi * values[at - 1] + steps[at]
    return np.exp(0.5 * values[200:])


def share(found: list[bool]) -> float:
    return float(np.mean(found))


def drifts(values: Floats) -> bool:
    p_value = drift_p_value(values)
    return p_value is not None and p_value < 0.05


@pytest.mark.parametrize("count", [100, 300, 1000])
def test_steady_noise_of_phi_08_is_called_a_drift_in_at_most_five_per_cent(count: int) -> None:
    generator = np.random.default_rng((1, count))
    alarms = share([drifts(ar1(generator, count, 0.8)) for _ in range(RUNS)])
    assert alarms <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize("count", [300, 1000])
def test_a_ramp_as_high_as_three_deviations_is_found(count: int) -> None:
    generator = np.random.default_rng((2, count))
    found = share([drifts(ar1(generator, count, 0.8) + np.linspace(0, 1.8, count)) for _ in range(50)])
    assert found >= 0.75


def test_noise_of_phi_08_is_seldom_cut() -> None:
    generator = np.random.default_rng(3)
    assert share([transient(ar1(generator, 500, 0.8)) > 0 for _ in range(RUNS)]) <= 0.08


def test_a_planted_transient_is_cut_where_it_ends() -> None:
    generator = np.random.default_rng(4)
    decay = 4 * np.exp(-np.arange(500) / 25)
    cuts = [transient(ar1(generator, 500, 0.5) + decay) for _ in range(50)]
    assert share([cut > 0 for cut in cuts]) >= 0.95
    assert 20 <= np.median(cuts) <= 120


def test_a_load_of_120_per_cent_is_given_up_within_a_minute_at_five_requests_a_second() -> None:
    loads = [Load("poisson", rate_rps=5, utilization=1.2, servers=8, seed=seed) for seed in range(40)]
    assert share([monitored(one, span_s=60)[0] is not None for one in loads]) >= 0.85


@pytest.mark.parametrize("pattern", ["poisson", "bursty", "on_off"])
def test_a_load_of_80_per_cent_is_hardly_ever_given_up(pattern: str) -> None:
    loads = [Load(pattern, rate_rps=5, utilization=0.8, servers=8, seed=seed) for seed in range(6)]
    assert share([monitored(one, span_s=600)[0] is not None for one in loads]) == 0
