from array import array
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from orchestrator.domain.records import RequestFailure, RequestRecord, Window
from orchestrator.metrics import window

MakeRecord = Callable[..., RequestRecord]

MS = 1_000_000
WINDOW = Window(1000 * MS, 2000 * MS)


def test_a_request_is_measured_by_its_intended_arrival(record: MakeRecord) -> None:
    records = [record(index, intended_ms=at) for index, at in enumerate((999.9, 1000, 1999.9, 2000))]
    assert [one.index for one in window.issued_in(records, WINDOW)] == [1, 2]


def test_a_request_that_ends_after_the_window_is_drained_and_still_measured(record: MakeRecord) -> None:
    issued = window.issued_in([record(intended_ms=1990), record(intended_ms=1500)], WINDOW)
    assert (len(issued), window.drained(issued, WINDOW)) == (2, 1)


def test_throughput_counts_what_arrived_in_the_window_whoever_issued_it(record: MakeRecord) -> None:
    records = [
        record(0, intended_ms=940),  # chunks at 990, 1000, 1010: ends inside
        record(1, intended_ms=1940),  # chunks at 1990, 2000, 2010: ends outside
    ]
    assert window.output_tokens_in(records, WINDOW) == 3
    assert window.completed_in(records, WINDOW) == 1


def test_tokens_of_failed_requests_are_no_throughput(record: MakeRecord) -> None:
    failed = record(intended_ms=1200, failure=RequestFailure.STREAM_ERROR)
    assert window.output_tokens_in([failed], WINDOW) == 0
    assert window.completed_in([failed], WINDOW) == 0


def test_chunks_that_carry_known_tokens_are_counted_by_them(record: MakeRecord) -> None:
    one = record(intended_ms=940, output_tokens_server=9, output_tokens_client=9, chunk_tokens=array("q", [5, 1, 3]))
    assert window.output_tokens_in([one], WINDOW) == 4


def test_chunks_of_unknown_size_share_the_request_evenly(record: MakeRecord) -> None:
    assert window.output_tokens_in([record(intended_ms=940, output_tokens_server=6)], WINDOW) == pytest.approx(4)


def _series(record: MakeRecord, ttfts_ms: Sequence[float]) -> list[RequestRecord]:
    return [record(index, intended_ms=100 * index, chunks_ms=(at, at + 10)) for index, at in enumerate(ttfts_ms)]


def test_too_few_requests_tell_nothing(record: MakeRecord) -> None:
    assert window.is_steady(_series(record, [50] * 29)) is None


def test_a_constant_latency_is_steady(record: MakeRecord) -> None:
    assert window.is_steady(_series(record, [50] * 30)) is True


def test_a_growing_queue_is_not_steady(record: MakeRecord) -> None:
    noise = np.random.default_rng(3).exponential(20, size=60)
    assert window.is_steady(_series(record, [50 + 5 * index + noise[index] for index in range(60)])) is False


def test_a_warm_up_that_lasts_is_not_steady(record: MakeRecord) -> None:
    noise = np.random.default_rng(4).exponential(5, size=60)
    falling = [50 + 200 / (1 + index / 10) + noise[index] for index in range(60)]
    assert window.is_steady(_series(record, falling)) is False


def test_steady_noise_raises_a_false_alarm_at_most_as_often_as_stated() -> None:
    generator = np.random.default_rng(5)
    alarms = [window.trend_p_value(generator.exponential(size=60)) < 0.05 for _ in range(1000)]
    assert np.mean(alarms) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_a_steady_queue_whose_waits_hang_together_cries_wolf_hardly_more_often() -> None:
    generator = np.random.default_rng(6)
    alarms = [window.trend_p_value(_waits(generator, utilization=0.5, count=150)) < 0.025 for _ in range(500)]
    assert np.mean(alarms) < 0.05


def _waits(generator: np.random.Generator, *, utilization: float, count: int) -> list[float]:
    """Sojourn times of an M/M/1 queue by Lindley's recursion, its start thrown away."""
    service = generator.exponential(utilization, size=count + 100)
    gaps = generator.exponential(1.0, size=count + 100)
    wait, sojourns = 0.0, []
    for work, gap in zip(service, gaps, strict=True):
        sojourns.append(wait + work)
        wait = max(0.0, wait + work - gap)
    return sojourns[100:]


def test_requests_of_the_warm_up_are_in_flight_when_the_window_begins_and_are_not_counted(record: MakeRecord) -> None:
    """Hand over without draining: those on their way give the window its load, their tokens its throughput."""
    records = [record(at, intended_ms=600 + 50 * at, chunks_ms=(100, 200, 300)) for at in range(28)]
    on_their_way = [one for one in records if one.intended_ns < WINDOW.start_ns <= one.end_ns]
    issued = window.issued_in(records, WINDOW)
    assert len(on_their_way) == 6
    assert not {one.index for one in on_their_way} & {one.index for one in issued}
    assert len(issued) == 20
    assert window.drained(issued, WINDOW) == 6
    assert window.completed_in(records, WINDOW) == 20
