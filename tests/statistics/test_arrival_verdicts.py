"""The verdict on traffic whose process is known: 200 seeds a kind, right in at least 95 % of them."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from workloads.model import MmppArrivals, RenewalArrivals
from workloads.profile.arrivals.describe import describe_arrivals
from workloads.profile.arrivals.model import ArrivalProfile, Verdict
from workloads.profile.arrivals.spectrum import describe_spectrum
from workloads.profile.arrivals.verdict import judge_arrivals
from workloads.trace import NS_PER_S, TraceFacts

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Floats]
EXACT = TraceFacts("made", "made", 1, 1)
SPAN_S = 900
NUM_REQUESTS = 3000


def judged(draw: Draw, seed: int) -> Verdict:
    seconds = draw(np.random.default_rng(seed))
    return judge_arrivals(((seconds - seconds[0]) * NS_PER_S).astype(np.int64), EXACT, seed=seed).verdict


def renewal(gaps: Callable[[np.random.Generator], Floats]) -> Draw:
    return lambda rng: np.cumsum(gaps(rng))


def gamma(cv: float) -> Draw:
    return renewal(lambda rng: rng.gamma(cv**-2, 0.2 * cv**2, NUM_REQUESTS))


def switching(low_rps: float, high_rps: float, low_s: float, high_s: float) -> Draw:
    def draw(rng: np.random.Generator) -> Floats:
        stays = rng.exponential(np.tile([low_s, high_s], SPAN_S))
        ends = np.cumsum(stays)
        counts = rng.poisson(stays * np.tile([low_rps, high_rps], SPAN_S))
        seconds = np.sort(np.repeat(ends - stays, counts) + rng.random(counts.sum()) * np.repeat(stays, counts))
        return seconds[seconds < SPAN_S]

    return draw


def drifting(rate: Callable[[np.random.Generator, Floats], Floats]) -> Draw:
    def draw(rng: np.random.Generator) -> Floats:
        starts = np.arange(0, SPAN_S, 0.5)
        relative = rate(rng, starts)
        counts = rng.poisson(2.5 * relative / relative.mean())
        return np.sort(np.repeat(starts, counts) + rng.random(counts.sum()) * 0.5)

    return draw


def wave(amplitude: float, period_s: float) -> Draw:
    return drifting(lambda rng, at_s: 1 + amplitude * np.sin(2 * np.pi * (at_s / period_s + rng.random())))


def walk(step_a_minute: float) -> Draw:
    scale = step_a_minute * np.sqrt(0.5 / 60)
    return drifting(lambda rng, at_s: np.exp(np.cumsum(rng.normal(0, scale, at_s.size))))


CASES: list[tuple[str, str, Draw, int]] = [
    ("poisson", "poisson", renewal(lambda rng: rng.exponential(0.2, NUM_REQUESTS)), 200),
    ("renewal", "gamma 0.5", gamma(0.5), 50),
    ("renewal", "gamma 2", gamma(2), 50),
    ("renewal", "gamma 3", gamma(3), 50),
    ("renewal", "weibull 0.6", renewal(lambda rng: 0.2 * rng.weibull(0.6, NUM_REQUESTS)), 50),
    ("renewal", "lognormal", renewal(lambda rng: rng.lognormal(0.0, 1.27, NUM_REQUESTS)), 50),
    ("on/off", "1 to 10 a second", switching(1, 10, 20, 20), 50),
    ("on/off", "0 to 10 a second", switching(0, 10, 20, 10), 50),
    ("on/off", "short bursts", switching(2, 20, 30, 5), 50),
    ("on/off", "long stays", switching(0.5, 8, 60, 40), 50),
    ("drifting poisson", "fast wave", wave(0.8, 300), 50),
    ("drifting poisson", "slow wave", wave(0.5, 600), 50),
    ("drifting poisson", "wide walk", walk(0.3), 50),
    ("drifting poisson", "narrow walk", walk(0.2), 50),
]


@pytest.mark.parametrize(("kind", "draw", "seeds"), [pytest.param(k, d, s, id=f"{k}: {n}") for k, n, d, s in CASES])
def test_the_verdict_is_right_in_95_of_100_seeds(kind: str, draw: Draw, seeds: int) -> None:
    kinds = Counter(judged(draw, seed).kind for seed in range(seeds))
    assert kinds[kind] >= 0.95 * seeds, kinds


@pytest.mark.parametrize("cv", [0.5, 2, 3])
def test_the_fitted_cv_is_that_of_the_gaps(cv: float) -> None:
    model = judged(gamma(cv), 0).model
    assert isinstance(model, RenewalArrivals)
    assert model.family == "gamma"
    assert model.cv == pytest.approx(cv, rel=0.05)


@pytest.mark.parametrize("low_rps", [0, 1])
def test_the_fitted_states_are_those_that_were_drawn_from(low_rps: float) -> None:
    models = [judged(switching(low_rps, 10, 20, 10), seed).model for seed in range(10)]
    fits = [(*model.rates, *model.mean_stay_s) for model in models if isinstance(model, MmppArrivals)]
    assert len(fits) == 10
    low, high, low_s, high_s = np.mean(fits, axis=0)
    assert low == pytest.approx(low_rps, abs=0.1)
    assert high == pytest.approx(10, rel=0.05)
    assert low_s == pytest.approx(20, rel=0.3)  # stays shorter than a bin are missed
    assert high_s == pytest.approx(10, rel=0.3)


def test_too_few_requests_are_not_judged() -> None:
    few = renewal(lambda rng: rng.exponential(1.0, 99))
    verdict = judged(few, 0)
    assert verdict.kind == "cannot tell"
    assert "99 requests" in verdict.sentence


def test_a_long_trace_shows_a_drift_that_its_middle_does_not() -> None:
    rng = np.random.default_rng(0)
    rates = np.repeat([5.0, 10.0, 5.0], 10_000)
    counts = rng.poisson(rates)
    seconds = np.sort(np.repeat(np.arange(rates.size), counts) + rng.random(counts.sum()))
    verdict = judge_arrivals(((seconds - seconds[0]) * NS_PER_S).astype(np.int64), EXACT, seed=0).verdict
    assert verdict.kind in {"drifting poisson", "on/off"}


@settings(max_examples=60, deadline=None)
@given(
    gaps_ns=st.lists(st.sampled_from([0, 1, 1000, 10**6, 10**9, 7 * 10**10, 10**13]), max_size=40),
    repeats=st.integers(1, 12),
    grid_ns=st.sampled_from([1, NS_PER_S]),
)
def test_any_arrivals_have_a_profile_that_reads_back(gaps_ns: list[int], repeats: int, grid_ns: int) -> None:
    arrival_ns = np.cumsum(np.array([0, *gaps_ns * repeats], dtype=np.int64))
    facts = TraceFacts("made", "made", 1, grid_ns)
    profile, notes = describe_arrivals(arrival_ns, facts, seed=0)
    assert ArrivalProfile.model_validate_json(profile.model_dump_json()) == profile
    assert (profile.verdict.kind == "grid") == (grid_ns > 1)
    assert notes or all(value is not None for value in profile.fano.values())
    spectrum = describe_spectrum(arrival_ns, facts)
    assert spectrum is None or all(np.diff(spectrum.frequency_hz) > 0)
