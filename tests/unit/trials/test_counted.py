from collections.abc import Callable

import numpy as np
import pytest

from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.window import WindowSpec
from orchestrator.replay import PreparedRequest
from orchestrator.trials.counted import counted
from orchestrator.trials.traffic import Traffic, schedule_for
from workloads.workload import FixedSource, PublishedSource, Source, Workload

FIXED = FixedSource(input_tokens=8, output_tokens=4, pattern="constant")


def maker(source: Source, load: OfferedLoad) -> Callable[[WindowSpec], Traffic]:
    def make(window: WindowSpec) -> Traffic:
        schedule = schedule_for(Workload(source=source), load, window)
        requests = [PreparedRequest(index, 0, b"", None, None) for index in range(len(schedule))]
        return Traffic(schedule, requests, "forced")

    return make


def issued(traffic: Traffic, window: WindowSpec) -> int:
    assert traffic.schedule.intended_ns is not None
    times = np.asarray(traffic.schedule.intended_ns) / 1e9
    return int(((times >= window.warmup_s) & (times < window.warmup_s + window.measure_s)).sum())


@pytest.mark.parametrize("source", [FIXED, PublishedSource(name="chat"), PublishedSource(name="bursty")])
@pytest.mark.parametrize("warmup", [0.0, 1.5])
def test_an_open_window_holds_exactly_the_count(source: Source, warmup: float) -> None:
    load = OpenLoad(rate_rps=10)
    window = WindowSpec(warmup_s=warmup, measure_s=99)
    traffic, cut = counted(maker(source, load), load, window, requests=10)
    assert issued(traffic, cut) == 10
    assert cut.warmup_s == warmup


def test_an_even_window_is_count_over_rate() -> None:
    load = OpenLoad(rate_rps=4)
    _, cut = counted(maker(FIXED, load), load, WindowSpec(warmup_s=0, measure_s=99), requests=10)
    assert cut.measure_s == pytest.approx(2.5)


def test_a_closed_loop_gets_that_many_requests_and_its_whole_window() -> None:
    load = ClosedLoad(users=3)
    window = WindowSpec(warmup_s=0, measure_s=99)
    traffic, cut = counted(maker(FIXED, load), load, window, requests=10)
    assert (len(traffic.requests), cut) == (10, window)


def test_a_user_without_a_request_is_refused() -> None:
    load = ClosedLoad(users=3)
    with pytest.raises(MeasurementRefusedError, match="2 requests for 3 users"):
        counted(maker(FIXED, load), load, WindowSpec(), requests=2)
