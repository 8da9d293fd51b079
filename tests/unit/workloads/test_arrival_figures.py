import numpy as np
import pytest
from numpy.typing import NDArray

from workloads.model import PiecewiseArrivals
from workloads.profile.arrivals.describe import describe_arrivals
from workloads.profile.arrivals.model import ArrivalProfile
from workloads.profile.arrivals.spectrum import describe_spectrum
from workloads.trace import NS_PER_S, TraceFacts

EXACT = TraceFacts("made", "made", 1, 1)


def profiled(seconds: object, facts: TraceFacts = EXACT) -> ArrivalProfile:
    return describe_arrivals(ns(seconds), facts, seed=0)[0]


def ns(seconds: object) -> NDArray[np.int64]:
    return np.rint(np.asarray(seconds, dtype=np.float64) * NS_PER_S).astype(np.int64)


def test_counts_over_windows_are_those_done_by_hand() -> None:
    figures = profiled([0.0, 0.1, 0.2, 1.0, 2.0, 2.1, 3.5, 4.5])
    counts = np.array([3, 1, 2, 1])
    assert figures.fano["1"] == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert figures.fano["2"] == pytest.approx(np.var([4, 3], ddof=1) / 3.5)
    assert figures.fano["5"] is None
    assert figures.peak_over_mean == {"1": pytest.approx(3 / 1.75), "10": None, "60": None}
    assert figures.max_gap_s == pytest.approx(1.4)


def test_autocorrelation_of_counts_that_alternate_is_minus_one_then_one() -> None:
    seconds = np.arange(0, 400, 2)
    figures = profiled(np.sort(np.concatenate([seconds, seconds + 0.5])))
    assert figures.count_autocorrelation["1"] == pytest.approx(-1, abs=0.02)
    assert figures.count_autocorrelation["2"] == pytest.approx(1, abs=0.02)
    assert figures.gap_autocorrelation["1"] == pytest.approx(-1, abs=0.02)


def test_a_lag_that_the_trace_hardly_covers_is_absent() -> None:
    figures = profiled(np.arange(0, 100, 0.37))
    assert figures.count_autocorrelation["10"] is not None
    assert figures.count_autocorrelation["30"] is None


@pytest.mark.parametrize("seconds", [[0.0], [0.0, 0.0, 0.0], [0.0, 3.0], [0.0, 0.4]])
def test_hardly_any_requests_make_no_figures_and_no_verdict(seconds: list[float]) -> None:
    figures = profiled(seconds)
    assert figures.cv is None
    assert figures.verdict.kind == "cannot tell"
    assert figures.verdict.model is None
    assert figures.change_points == ()
    assert isinstance(figures.curve, PiecewiseArrivals)
    assert any(figures.curve.weights)
    assert describe_spectrum(ns(seconds), EXACT) is None


def test_many_requests_at_one_instant_make_no_verdict() -> None:
    figures = profiled(np.zeros(1000))
    assert figures.verdict.kind == "cannot tell"
    assert figures.curve.weights == (1.0,)


def test_a_step_as_long_as_the_gaps_is_too_coarse_to_tell() -> None:
    second = TraceFacts("made", "made", NS_PER_S, NS_PER_S)
    stamps = np.floor(np.cumsum(np.random.default_rng(0).exponential(1.0, 2000)))
    figures = profiled(stamps - stamps[0], second)
    assert figures.cv is None
    assert figures.verdict.kind == "cannot tell"
    assert "too coarse" in figures.verdict.sentence
    assert figures.fano["10"] == pytest.approx(1, abs=0.3)


def test_a_step_shorter_than_the_gaps_does_not_hide_a_poisson_process() -> None:
    second = TraceFacts("made", "made", NS_PER_S, NS_PER_S)
    stamps = np.floor(np.cumsum(np.random.default_rng(1).exponential(5.0, 2000)))
    assert profiled(stamps - stamps[0], second).verdict.kind == "poisson"


def test_batches_on_a_grid_keep_their_cells() -> None:
    grid = TraceFacts("made", "made", 1_000_000, 3 * NS_PER_S)
    sizes = np.tile([2, 30, 2, 2], 60)
    figures = profiled(np.repeat(np.arange(sizes.size) * 3.0, sizes), grid)
    assert figures.verdict.kind == "grid"
    assert figures.curve.kind == "grid"
    assert figures.curve.step_s == 3
    weights = np.array(figures.curve.weights)
    assert weights.size == sizes.size
    assert weights[1::4].mean() > 5 * weights[2::4].mean()
    assert figures.fano["1"] is None
    assert figures.fano["300"] is not None


def test_notes_say_which_figures_are_absent() -> None:
    _, notes = describe_arrivals(ns([0.0]), EXACT, seed=0)
    assert any("no gap CV" in note for note in notes)
    assert any("no Fano factor" in note for note in notes)
    assert any("no count autocorrelation" in note for note in notes)


def test_the_same_seed_gives_the_same_profile() -> None:
    stamps = ns(np.floor(np.cumsum(np.random.default_rng(2).exponential(3.0, 500))))
    second = TraceFacts("made", "made", NS_PER_S, NS_PER_S)
    assert describe_arrivals(stamps, second, seed=5) == describe_arrivals(stamps, second, seed=5)


def test_a_trace_of_years_has_no_counts_by_the_second() -> None:
    figures = profiled(np.cumsum(np.random.default_rng(3).exponential(5e5, 150)))
    assert figures.fano["1"] is None
    assert figures.cv is not None
