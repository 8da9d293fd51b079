import numpy as np
import pytest
from numpy.typing import NDArray

from workloads.model import (
    ArrivalModel,
    ClientArrivals,
    ComposedArrivals,
    GridArrivals,
    Harmonic,
    HarmonicArrivals,
    MmppArrivals,
    PiecewiseArrivals,
    PoissonArrivals,
    RenewalArrivals,
)
from workloads.synthesis.arrivals import draw_arrivals, draw_clients
from workloads.synthesis.curves import Clock, SynthesisError

S = 10**9
ON_OFF = MmppArrivals(rates=(1.0, 0.0), mean_stay_s=(5.0, 20.0))
MODELS: tuple[ArrivalModel, ...] = (
    PoissonArrivals(),
    RenewalArrivals(cv=3.0),
    RenewalArrivals(family="weibull", cv=2.0),
    PiecewiseArrivals(bin_s=7, weights=(1, 0, 5, 2), cv=1.5),
    HarmonicArrivals(waves=(Harmonic(period_s=30, amplitude=0.8, crest_s=3),)),
    ON_OFF,
    GridArrivals(step_s=3, weights=(5, 0, 1, 9)),
    ComposedArrivals(clients=(ClientArrivals(share=0.7, cv=1), ClientArrivals(share=0.3, cv=4))),
)


def draw(model: ArrivalModel, *, rate: float = 50, duration_s: float = 400, seed: int = 5) -> NDArray[np.int64]:
    return draw_arrivals(model, Clock(duration_s), rate_rps=rate, seed=seed)


def gap_cv(times: NDArray[np.int64]) -> float:
    gaps = np.diff(times)
    return float(gaps.std(ddof=1) / gaps.mean())


def counts_in(times: NDArray[np.int64], window_s: float, duration_s: float) -> NDArray[np.int64]:
    return np.bincount(times // round(window_s * S), minlength=round(duration_s / window_s))


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.kind)
def test_times_are_whole_nanoseconds_in_order_within_the_load(model: ArrivalModel) -> None:
    times = draw(model)
    assert times.dtype == np.int64
    assert np.all(np.diff(times) >= 0)
    assert times[0] >= 0
    assert times[-1] < 400 * S
    assert times.tolist() == draw(model).tolist()
    assert times.tolist() != draw(model, seed=6).tolist()


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.kind)
def test_the_rate_is_met_over_the_load_itself(model: ArrivalModel) -> None:
    assert len(draw(model, rate=100, duration_s=30)) == pytest.approx(3000, rel=0.15)
    assert len(draw(model, rate=100, duration_s=100)) == pytest.approx(10_000, rel=0.1)


@pytest.mark.parametrize(("family", "cv"), [("gamma", 0.4), ("gamma", 3.0), ("weibull", 0.5), ("weibull", 2.5)])
def test_renewal_gaps_have_the_asked_cv_and_no_memory(family: str, cv: float) -> None:
    times = draw(RenewalArrivals(family=family, cv=cv), duration_s=2000)  # type: ignore[arg-type]
    gaps = np.diff(times)
    assert gap_cv(times) == pytest.approx(cv, rel=0.06)
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.02


def test_gaps_more_uneven_or_even_than_a_family_can_be_are_refused() -> None:
    with pytest.raises(SynthesisError, match="at most 50"):
        draw(RenewalArrivals(cv=51))
    with pytest.raises(SynthesisError, match="Weibull"):
        draw(RenewalArrivals(family="weibull", cv=1e-6))


def test_a_piecewise_rate_is_poisson_inside_its_bins() -> None:
    times = draw(PiecewiseArrivals(bin_s=50, weights=(1, 3, 0, 2)))
    counts = counts_in(times, 50, 400)
    assert counts[[2, 6]].tolist() == [0, 0]
    np.testing.assert_allclose(counts[[0, 1, 3, 4, 5, 7]] / counts.sum() * 12, [1, 3, 2, 1, 3, 2], rtol=0.1)
    inside = counts_in(times[(times >= 50 * S) & (times < 100 * S)] - 50 * S, 0.5, 50)
    assert inside.var(ddof=1) / inside.mean() == pytest.approx(1, abs=0.3)


def test_gamma_gaps_in_operational_time_keep_their_cv_whatever_the_rate_does() -> None:
    flat = draw(PiecewiseArrivals(bin_s=1, weights=(1,), cv=2.0))
    assert gap_cv(flat) == pytest.approx(2.0, rel=0.06)
    waved = draw(PiecewiseArrivals(bin_s=100, weights=(1, 4), cv=2.0))
    assert gap_cv(waved[waved < 100 * S]) == pytest.approx(2.0, rel=0.1)


def test_a_wave_crests_where_the_model_says() -> None:
    model = HarmonicArrivals(waves=(Harmonic(period_s=100, amplitude=0.9, crest_s=25),))
    counts = counts_in(draw(model), 10, 400).reshape(4, 10).sum(axis=0)
    assert int(np.argmax(counts)) in {1, 2, 3}
    assert counts.max() > 4 * counts.min()


def test_on_off_traffic_has_empty_stretches_and_memory_in_its_counts() -> None:
    times = draw(ON_OFF, duration_s=5000)
    counts = counts_in(times, 1, 5000)
    assert np.mean(counts == 0) == pytest.approx(0.8, abs=0.1)
    assert np.corrcoef(counts[:-1], counts[1:])[0, 1] > 0.6
    assert len(times) == pytest.approx(250_000, rel=0.02)


def test_a_grid_is_spread_inside_its_cells() -> None:
    times = draw(GridArrivals(step_s=3, weights=(2, 0)))
    assert np.all((times // (3 * S)) % 2 == 0)
    offsets = times % (3 * S) / (3 * S)
    assert np.histogram(offsets, bins=4, range=(0, 1))[0].min() > 0.2 * len(times)


def test_leaving_a_client_out_leaves_the_others_as_they_were() -> None:
    shares = (0.5, 0.3, 0.2)
    model = ComposedArrivals(clients=tuple(ClientArrivals(share=share, cv=2) for share in shares))
    clock = Clock(200.0)
    alone = [draw_clients(model, (one,), clock, rate_rps=20 * shares[one], seed=1) for one in range(3)]
    whole = draw_arrivals(model, clock, rate_rps=20, seed=1)
    assert np.sort(np.concatenate(alone)).tolist() == whole.tolist()
    two = draw_clients(model, (0, 2), clock, rate_rps=20 * 0.7, seed=1)
    np.testing.assert_allclose(two, np.sort(np.concatenate([alone[0], alone[2]])), atol=1000)


def test_clients_that_are_not_there_are_refused() -> None:
    model = ComposedArrivals(clients=(ClientArrivals(share=1, cv=1),))
    with pytest.raises(SynthesisError, match=r"0 to 0, seen \[3\]"):
        draw_clients(model, (3,), Clock(5), rate_rps=1, seed=0)
    with pytest.raises(SynthesisError, match="seen poisson"):
        draw_clients(PoissonArrivals(), (0,), Clock(5), rate_rps=1, seed=0)


def test_a_load_within_a_silent_stretch_is_refused() -> None:
    with pytest.raises(SynthesisError, match="rate is 0"):
        draw(PiecewiseArrivals(bin_s=100, weights=(0, 1)), duration_s=20)


def test_a_clock_too_fast_for_memory_is_refused() -> None:
    with pytest.raises(SynthesisError, match="rate_method: thin"):
        draw_arrivals(PiecewiseArrivals(bin_s=1, weights=(1, 2)), Clock(600, 1e9), rate_rps=1, seed=0)


def test_a_short_load_of_bursts_carries_its_rate() -> None:
    for seed in range(10):
        times = draw(ON_OFF, duration_s=60, rate=20, seed=seed)
        assert len(times) == pytest.approx(1200, rel=0.15)
        assert counts_in(times, 1, 60).max() < 200


def test_a_faster_clock_divides_the_length_of_bursts() -> None:
    model = PiecewiseArrivals(bin_s=40, weights=(1, 0))
    times = draw_arrivals(model, Clock(400, 4.0), rate_rps=50, seed=0)
    assert np.all((times // (10 * S)) % 2 == 0)
    assert len(times) == pytest.approx(20_000, rel=0.05)


def test_a_lead_goes_before_the_load_and_leaves_its_curve_in_place() -> None:
    model = PiecewiseArrivals(bin_s=50, weights=(3, 0))
    times = draw_arrivals(model, Clock(200, 1.0, 100), rate_rps=20, seed=0)
    assert times[0] < -50 * S
    assert np.all((times // (50 * S)) % 2 == 0)
    assert np.count_nonzero(times >= 0) == pytest.approx(4000, rel=0.1)
