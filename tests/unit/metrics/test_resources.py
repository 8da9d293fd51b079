from collections.abc import Callable

import numpy as np
import pytest

from orchestrator.domain.records import RequestRecord, Window
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.metrics.resources import increase, prefix_cache_hit_ratio, summarise_telemetry

MakeRecord = Callable[..., RequestRecord]

WINDOW = Window(100, 200)


def _series(name: str, points: list[tuple[int, float]]) -> Series:
    times, values = zip(*points, strict=True)
    return Series(name, "", np.array(times, dtype=np.int64), np.array(values, dtype=np.float64))


def test_only_samples_inside_the_window_count() -> None:
    telemetry = Telemetry((_series("host_memory_bytes", [(99, 9e9), (100, 1e9), (199, 2e9), (200, 9e9)]),), 0.2)
    resources = summarise_telemetry(telemetry, WINDOW)
    assert (resources.host_memory_peak_bytes, resources.samples) == (2_000_000_000, 2)


def test_means_and_peaks_skip_what_could_not_be_read() -> None:
    points = [(110, 0.2), (120, float("nan")), (130, 0.6)]
    resources = summarise_telemetry(Telemetry((_series("kv_cache_utilization", points),), 0.2), WINDOW)
    assert resources.kv_cache_utilization_mean == pytest.approx(0.4)
    assert resources.kv_cache_utilization_peak == 0.6


def test_absent_series_and_absent_telemetry_are_none_not_zero() -> None:
    nothing = summarise_telemetry(None, WINDOW)
    assert (nothing.host_memory_peak_bytes, nothing.preemptions, nothing.samples) == (None, None, 0)
    outside = summarise_telemetry(Telemetry((_series("engine_requests_waiting", [(5, 1.0)]),), 0.2), WINDOW)
    assert outside.requests_waiting_mean is None


@pytest.mark.parametrize(
    ("points", "rise"),
    [
        ([(90, 10.0), (150, 12.0), (250, 99.0)], 2.0),
        ([(40, 1.0), (90, 10.0), (150, 12.0)], 2.0),
        ([(110, 5.0), (190, 9.0)], 4.0),
        ([(110, 5.0), (120, 5.0)], 0.0),
        ([(110, 5.0)], None),
        ([(250, 5.0), (260, 6.0)], None),
        ([(110, 5.0), (120, 1.0), (130, 9.0)], None),
    ],
)
def test_a_counter_tells_its_rise_over_the_window_and_nothing_after_a_restart(
    points: list[tuple[int, float]], rise: float | None
) -> None:
    assert increase(_series("engine_preemptions", points), WINDOW) == rise


def test_the_hit_ratio_comes_from_the_engines_counters_first(record: MakeRecord) -> None:
    telemetry = Telemetry(
        (
            _series("prefix_cache_hit_tokens", [(90, 100.0), (190, 130.0)]),
            _series("prefix_cache_query_tokens", [(90, 400.0), (190, 520.0)]),
        ),
        0.2,
    )
    issued = (record(input_tokens_server=10, cached_tokens_server=9),)
    assert prefix_cache_hit_ratio(telemetry, issued, WINDOW) == 0.25


def test_the_hit_ratio_falls_back_to_what_the_answers_say(record: MakeRecord) -> None:
    issued = (
        record(0, input_tokens_server=30, cached_tokens_server=15),
        record(1, input_tokens_server=10, cached_tokens_server=0),
        record(2, input_tokens_server=10),
    )
    assert prefix_cache_hit_ratio(None, issued, WINDOW) == pytest.approx(15 / 40)


def test_an_unknown_hit_ratio_is_none(record: MakeRecord) -> None:
    assert prefix_cache_hit_ratio(None, (record(),), WINDOW) is None
