import io

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from orchestrator.report.traffic.people import busiest_in_bins
from orchestrator.report.traffic.picture import Absent
from orchestrator.report.traffic.pictures import KINDS, Kind, draw_all, draw_traffic, to_inline, traffic_pngs
from orchestrator.report.traffic.rate import choose_bin_s, rate_levels
from orchestrator.report.traffic.samples import length_samples
from orchestrator.report.traffic.unevenness import fano_band
from tests.traffic_builders import (
    NUM_REQUESTS,
    SPAN_S,
    a_distribution,
    a_spectrum,
    a_trace,
    a_traffic_profile,
    an_arrival_profile,
)
from workloads.model.families import sf
from workloads.profile.arrivals.model import ChangePoint
from workloads.profile.model import TraceProfile
from workloads.trace import NS_PER_S, Trace

CLIENTS = np.repeat(np.asarray([5, 9], dtype=np.uint64), [NUM_REQUESTS // 4, NUM_REQUESTS - NUM_REQUESTS // 4])
SERVICE_NS = np.full(NUM_REQUESTS, 3 * NS_PER_S, dtype=np.int64)


def draw(name: str, profile: TraceProfile | None = None, trace: Trace | None = None) -> Figure:
    drawn = one_kind(name).draw(profile or a_traffic_profile(), trace or a_trace())
    assert isinstance(drawn, Figure)
    return drawn


def reason(name: str, profile: TraceProfile, trace: Trace | None) -> str:
    found = one_kind(name).draw(profile, trace)
    assert isinstance(found, Absent)
    return found.reason


def one_kind(name: str) -> Kind:
    (found,) = [kind for kind in KINDS if kind.name == name]
    return found


def lines(axes: Axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {
        str(one.get_label()): (np.asarray(one.get_xdata()), np.asarray(one.get_ydata())) for one in axes.get_lines()
    }


def title_of(drawn: Figure) -> str:
    return drawn.get_suptitle()


@pytest.fixture(scope="module")
def everything() -> dict[str, Figure]:
    return draw_traffic(a_traffic_profile(), a_trace(client_id=CLIENTS, service_ns=SERVICE_NS))


def test_traffic_with_all_evidence_has_every_picture(everything: dict[str, Figure]) -> None:
    assert list(everything) == [kind.name for kind in KINDS]


def test_every_picture_says_how_much_it_rests_on(everything: dict[str, Figure]) -> None:
    for drawn in everything.values():
        assert "n = " in title_of(drawn)


def test_every_axis_has_a_name(everything: dict[str, Figure]) -> None:
    for drawn in everything.values():
        for axes in drawn.axes:
            assert axes.get_xlabel()
            assert axes.get_ylabel()


def test_the_measured_line_is_the_share_of_requests_at_least_so_long(everything: dict[str, Figure]) -> None:
    lengths = a_trace().input_tokens
    tokens, percent = lines(everything["length_ccdf"].axes[0])["measured"]
    for at in (0, tokens.size // 2, tokens.size - 1):
        assert percent[at] == pytest.approx(100 * np.mean(lengths >= tokens[at]))
    assert tokens[-1] == lengths.max()


def test_a_fit_is_drawn_as_its_own_survival(everything: dict[str, Figure]) -> None:
    tokens, percent = lines(everything["length_ccdf"].axes[0])["lognormal (KS 0.02)"]
    assert percent == pytest.approx(100 * sf("lognormal", {"mu": 6.0, "sigma": 1.0}, tokens - 0.5))


def test_caps_are_marked_where_they_are(everything: dict[str, Figure]) -> None:
    drawn = lines(everything["length_ccdf"].axes[0])
    assert drawn["cap at 4,000 tokens (1.1 % of requests)"][0][0] == 4000


def test_answers_of_no_tokens_are_said_since_a_log_axis_cannot_show_them() -> None:
    outputs = np.arange(NUM_REQUESTS, dtype=np.int32) // (NUM_REQUESTS // 4)
    drawn = draw("length_ccdf", trace=a_trace(output_tokens=outputs))
    assert "25 % of requests have 0" in drawn.axes[1].get_xlabel()
    assert lines(drawn.axes[1])["measured"][1][0] == pytest.approx(75)


def test_answers_that_are_all_empty_are_drawn_without_a_line() -> None:
    drawn = draw("length_ccdf", trace=a_trace(output_tokens=np.zeros(NUM_REQUESTS, dtype=np.int32)))
    assert "100 % of requests have 0" in drawn.axes[1].get_xlabel()
    assert lines(drawn.axes[1])["measured"][0].size == 0


def test_failed_requests_have_no_length_in_a_picture() -> None:
    is_failed = np.arange(NUM_REQUESTS) < 500
    inputs = np.where(is_failed, 0, 100).astype(np.int32)
    (sample, _) = length_samples(a_traffic_profile(), a_trace(input_tokens=inputs, is_failed=is_failed))
    assert sample.tokens.tolist() == [100]


def test_quantiles_of_a_sample_are_its_order_statistics() -> None:
    inputs = np.repeat(np.asarray([10, 20, 30, 4000], dtype=np.int32), NUM_REQUESTS // 4)
    (sample, _) = length_samples(a_traffic_profile(), a_trace(input_tokens=inputs))
    assert sample.at(np.asarray([0.1, 0.3, 0.7, 1.0])).tolist() == [10, 20, 30, 4000]


def test_without_fits_there_is_no_comparison_and_it_says_so() -> None:
    bare = a_distribution(fits=())
    profile = a_traffic_profile(input_distribution=bare, output_distribution=bare)
    assert "no family was fitted" in reason("length_quantiles", profile, a_trace())


def test_where_no_request_was_answered_there_are_no_lengths() -> None:
    profile = a_traffic_profile(input_distribution=None, output_distribution=None)
    assert "no request was answered" in reason("length_ccdf", profile, a_trace())


def test_a_profile_alone_is_drawn_as_far_as_it_goes() -> None:
    profile = a_traffic_profile()
    drawn = draw_traffic(profile, None)
    assert set(drawn) == {kind.name for kind in KINDS} - {"gaps", "concurrency"}
    (gaps,) = [one for one in draw_all(profile, None) if one.name == "gaps"]
    assert gaps.figure is None
    assert "profile the trace" in gaps.absent


@pytest.mark.parametrize(
    ("span_s", "grid_s", "expected"),
    [(3600, 1e-9, 15), (3537, 3, 30), (100, 1e-9, 1), (2, 1e-9, 0.01), (30, 3, None), (0, 1e-9, None)],
)
def test_bins_are_at_most_300_and_no_finer_than_ten_time_steps(
    span_s: float, grid_s: float, expected: float | None
) -> None:
    assert choose_bin_s(span_s, grid_s) == expected


def test_rate_levels_join_at_the_change_points() -> None:
    points = (
        ChangePoint(at_s=10, rate_before_rps=1, rate_after_rps=3),
        ChangePoint(at_s=40, rate_before_rps=3, rate_after_rps=2),
    )
    assert rate_levels(points, 100) == ([0, 10, 40, 100], [1, 3, 2])


def test_counted_rates_add_up_to_the_requests_of_whole_bins() -> None:
    trace = a_trace()
    axes = draw("arrival_rate", trace=trace).axes[0]
    (counted,) = [one for one in axes.patches if str(one.get_label()).startswith("counted in bins of 5 s")]
    values = counted.get_data().values
    assert values.sum() * 5 == pytest.approx(np.sum(trace.arrival_ns < SPAN_S * NS_PER_S))


def test_gaps_on_a_coarse_grid_are_not_drawn() -> None:
    profile = a_traffic_profile(arrivals=an_arrival_profile(grid_s=3.0))
    assert "step of 3 s" in reason("gaps", profile, a_trace())


def test_gaps_finer_than_the_time_step_are_not_drawn() -> None:
    profile = a_traffic_profile(arrivals=an_arrival_profile(grid_s=1.0, resolution_s=1.0))
    assert "too coarse for a mean gap of 0.5 s" in reason("gaps", profile, a_trace())


def test_gaps_of_nothing_are_said() -> None:
    arrivals = a_trace().arrival_ns // (2 * NS_PER_S) * (2 * NS_PER_S)
    drawn = draw("gaps", trace=a_trace(arrival_ns=arrivals))
    zeros = 100 * np.mean(np.diff(arrivals) == 0)
    assert f"{zeros:.3g} % of gaps are 0" in drawn.axes[0].get_xlabel()


def test_the_fano_band_holds_19_of_20_poisson_processes() -> None:
    counts = np.random.default_rng(3).poisson(2.0, (4000, 60))
    seen = counts.var(axis=1, ddof=1) / counts.mean(axis=1)
    low, high = fano_band(np.asarray([60]))
    assert np.mean((seen >= low[0]) & (seen <= high[0])) == pytest.approx(0.95, abs=0.015)


def test_a_single_window_has_no_band() -> None:
    low, _ = fano_band(np.asarray([1, 2]))
    assert np.isnan(low).tolist() == [True, False]


def test_windows_without_a_fano_factor_are_left_out() -> None:
    axes = draw("fano").axes[0]
    assert lines(axes)["measured"][0].tolist() == [1, 10, 60]
    nothing = a_traffic_profile(arrivals=an_arrival_profile(fano={"1": None}))
    assert "no window" in reason("fano", nothing, a_trace())


def test_a_fano_factor_of_0_is_not_taken_for_a_missing_one() -> None:
    even = a_traffic_profile(arrivals=an_arrival_profile(fano={"1": 0.0}))
    assert "equal counts" in reason("fano", even, a_trace())
    mixed = draw("fano", a_traffic_profile(arrivals=an_arrival_profile(fano={"1": 0.0, "10": 0.4, "60": None})))
    assert "1 windows with a factor of 0" in mixed.axes[0].get_xlabel()


def test_requests_of_one_length_are_a_point() -> None:
    drawn = draw("length_ccdf", trace=a_trace(input_tokens=np.full(NUM_REQUESTS, 100, dtype=np.int32)))
    (measured,) = [one for one in drawn.axes[0].get_lines() if one.get_label() == "measured"]
    assert measured.get_marker() == "o"


def test_only_named_periods_are_spelled_out() -> None:
    axes = draw("spectrum").axes[0]
    assert [one.get_text() for one in axes.texts] == ["60 s (16.6 seen)"]
    assert lines(axes)["peak that is not named"][0].tolist() == [500]


def test_a_spectrum_without_frequencies_says_why() -> None:
    empty = a_spectrum(frequency_hz=(), density=(), notes=("the trace has 12 requests",))
    assert reason("spectrum", a_traffic_profile(spectrum=empty), None) == "the trace has 12 requests"


def test_what_a_format_does_not_have_is_not_drawn() -> None:
    bare = a_traffic_profile(prefix=None, clients=None, concurrency=None, spectrum=None)
    for name in ("prefix_reuse", "clients", "concurrency", "spectrum"):
        assert reason(name, bare, a_trace())


def test_requests_in_flight_are_the_brute_force_ones() -> None:
    draws = np.random.default_rng(5)
    arrivals = np.append(np.sort(draws.integers(0, 10_000, 300)), 11_000)
    service = np.append(draws.integers(0, 900, 300), 1_000)
    seen, edges_s = busiest_in_bins(arrivals, service)
    assert edges_s * NS_PER_S == pytest.approx(np.arange(0, 12_001, 20))
    moments = np.arange(12_000)
    level = [int(np.sum((arrivals <= at) & (at < arrivals + service))) for at in moments]
    assert seen.tolist() == np.reshape(level, (600, 20)).max(axis=1).tolist()


def test_pictures_become_png_and_a_data_address() -> None:
    nothing = {"input_distribution": None, "output_distribution": None}
    profile = a_traffic_profile(prefix=None, clients=None, spectrum=None, **nothing)
    pngs = traffic_pngs(profile, a_trace())
    assert all(name.endswith(".png") for name in pngs)
    assert imread(io.BytesIO(pngs["fano.png"])).shape[1] > 900
    assert to_inline(draw("fano")).startswith("data:image/svg+xml;base64,")


def test_equal_figures_give_equal_bytes() -> None:
    assert to_inline(draw("prefix_reuse")) == to_inline(draw("prefix_reuse"))
