import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord, Window
from orchestrator.domain.slo import Slo
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.metrics.saturation import OUTGREW
from orchestrator.metrics.summary import MeasurementFacts, measurement_digest, summarise

MakeRecord = Callable[..., RequestRecord]
MakeLog = Callable[..., ReplayLog]
MS = 1_000_000
FACTS = MeasurementFacts(
    trial_digest="t",
    schedule_digest="s",
    content="english",
    length_scale=None,
    cache_policy="salted",
    is_simulated=True,
    started_at="2030-01-01T00:00:00+00:00",
    warmup_s=2.0,
    stop="forced",
)


def test_every_count_of_the_window_adds_up(record: MakeRecord, log: MakeLog) -> None:
    records = [record(index, intended_ms=100 * index - 1000) for index in range(60)]
    records += [
        record(60, intended_ms=5000, failure=RequestFailure.TIMEOUT),
        record(61, intended_ms=5000, failure=RequestFailure.HTTP_STATUS, chunks_ms=()),
        record(62, intended_ms=9990),
    ]
    one = summarise(log(records, drained_ns=11_000 * MS), FACTS, slo=Slo(ttft_s=0.06))
    assert (one.num_issued, one.num_completed, one.num_failed, one.num_drained) == (53, 51, 2, 1)
    assert one.failures == {RequestFailure.HTTP_STATUS: 1, RequestFailure.TIMEOUT: 1}
    assert one.ttft_s.count == one.e2e_s.count == one.tpot_s.count == 51
    assert one.itl_s.count == one.chunk_gap_s.count == 102
    assert one.achieved_rps == 5.3
    assert one.requests_per_s == 5.0  # 50 of the window and none of the warm-up end inside; one ends after it
    assert one.output_tokens_per_s == 15.0
    assert (one.offered_rps, one.users, one.mode, one.step) == (10.0, None, "open", 10_000)
    assert (one.warmup_s, one.window_s, one.drain_s) == (2.0, 10.0, 1.0)
    assert one.slo_attainment == pytest.approx(51 / 53)
    assert one.goodput_rps == pytest.approx(5.1)
    assert one.window_is_steady is True
    assert one.fidelity.verdict is Verdict.SOUND


def test_known_gaps_come_out_as_known_percentiles(record: MakeRecord, log: MakeLog) -> None:
    one = summarise(log([record(index, intended_ms=100 * index) for index in range(40)]), FACTS)
    assert one.ttft_s.p50 == one.ttft_s.p90 == pytest.approx(0.050)
    assert one.itl_s.p50 == pytest.approx(0.010)
    assert one.e2e_s.mean == pytest.approx(0.070)
    assert one.ttft_s.p95 is None  # 40 requests carry P90; P95 needs 72
    assert one.input_tokens.p50 == 16


def test_rates_and_latencies_carry_intervals_around_them(record: MakeRecord, log: MakeLog) -> None:
    generator = np.random.default_rng(1)
    at_ms = np.sort(generator.uniform(0, 9900, 100))
    records = [record(index, intended_ms=at, chunks_ms=(40 + at % 20, 70)) for index, at in enumerate(at_ms)]
    one = summarise(log(records), FACTS, slo=Slo(ttft_s=0.055))
    assert set(one.rate_intervals) == {
        "achieved_rps",
        "requests_per_s",
        "output_tokens_per_s",
        "goodput_rps",
        "slo_attainment",
    }
    for name, interval in one.rate_intervals.items():
        assert interval.low < getattr(one, name) < interval.high
    assert set(one.ttft_s.intervals) == {"mean", "p50", "p90", "p95"}
    assert one.ttft_s.needed["p99"] >= 368


def test_a_load_that_was_given_up_has_no_intervals_of_rates(record: MakeRecord, log: MakeLog) -> None:
    records = [record(index, intended_ms=170 * index) for index in range(50)]
    assert summarise(log(records), FACTS).rate_intervals
    assert not summarise(log(records, early_stop=OUTGREW), FACTS).rate_intervals


def test_without_an_slo_there_is_no_goodput(record: MakeRecord, log: MakeLog) -> None:
    one = summarise(log([record()]), FACTS)
    assert (one.goodput_rps, one.slo_attainment) == (None, None)


def test_an_empty_window_is_invalid_and_its_latencies_are_absent(log: MakeLog) -> None:
    one = summarise(log([]), FACTS, slo=Slo(ttft_s=1.0))
    assert one.fidelity.verdict is Verdict.INVALID
    assert (one.ttft_s.mean, one.slo_attainment, one.goodput_rps, one.output_tokens_source) == (None,) * 4


@pytest.mark.parametrize(("throttled", "verdict"), [(0.0, Verdict.SOUND), (1.0, Verdict.DEGRADED)])
def test_a_throttled_device_degrades(record: MakeRecord, log: MakeLog, throttled: float, verdict: Verdict) -> None:
    series = Series("device_throttled", "ratio", np.array([MS, 2 * MS]), np.array([0.0, throttled]))
    one = summarise(log([record()]), FACTS, telemetry=Telemetry((series,), 0.2))
    assert one.fidelity.verdict is verdict


def test_a_window_that_ends_before_it_starts_is_refused(log: MakeLog) -> None:
    with pytest.raises(ValueError, match="must end after it starts"):
        summarise(log([], window=Window(5, 5)), FACTS)


def test_when_every_request_fails_nothing_looks_fast(record: MakeRecord, log: MakeLog) -> None:
    failed = [record(index, intended_ms=index, failure=RequestFailure.REFUSED, chunks_ms=()) for index in range(50)]
    one = summarise(log(failed), FACTS, slo=Slo(ttft_s=1.0))
    assert (one.ttft_s.mean, one.ttft_s.p50, one.num_completed) == (None, None, 0)
    assert (one.slo_attainment, one.goodput_rps) == (0.0, 0.0)


@pytest.mark.parametrize(("counts", "source"), [((3, 3), "server"), ((None, None), "client"), ((3, None), "mixed")])
def test_the_record_says_who_counted_the_tokens(
    record: MakeRecord, log: MakeLog, counts: tuple[int | None, int | None], source: str
) -> None:
    records = [record(index, output_tokens_server=count) for index, count in enumerate(counts)]
    assert summarise(log(records), FACTS).output_tokens_source == source


def test_the_record_says_who_ended_the_answers_and_how_often(record: MakeRecord, log: MakeLog) -> None:
    reasons = ["length", "stop", "stop", "tool_calls", None]
    records = [record(index, finish_reason=reason) for index, reason in enumerate(reasons)]
    records += [record(5, finish_reason="stop", failure=RequestFailure.CUT_STREAM)]
    one = summarise(log(records), replace(FACTS, stop="natural"))
    assert (one.stop, one.num_completed) == ("natural", 5)
    assert (one.num_ended_by_length, one.num_ended_by_stop) == (1, 2)


def test_where_no_answer_told_why_it_ended_nothing_is_counted(record: MakeRecord, log: MakeLog) -> None:
    one = summarise(log([record(finish_reason=None)]), FACTS)
    assert (one.num_ended_by_length, one.num_ended_by_stop) == (None, None)


def test_a_record_from_before_stops_were_recorded_is_read(record: MakeRecord, log: MakeLog) -> None:
    row = json.loads(summarise(log([record()]), FACTS).to_json())
    for name in ("stop", "num_ended_by_length", "num_ended_by_stop"):
        del row[name]
    assert Measurement.model_validate(row).stop is None


def test_a_closed_loop_is_labelled_by_its_users(record: MakeRecord, log: MakeLog) -> None:
    one = summarise(log([record()], load=ClosedLoad(users=4)), FACTS)
    assert (one.mode, one.users, one.offered_rps, one.step) == ("closed", 4, None, 4)


def test_the_published_json_reads_back_as_the_same_measurement(record: MakeRecord, log: MakeLog) -> None:
    one = summarise(log([record(index, intended_ms=index) for index in range(9)]), FACTS, slo=Slo(ttft_s=1.0))
    assert json.loads(one.to_json())["schema"] == "seatrial.measurement/1"
    assert Measurement.model_validate_json(one.to_json()) == one


def test_the_digest_is_known_before_measuring_and_does_not_depend_on_the_slo(record: MakeRecord, log: MakeLog) -> None:
    strict, lax = (summarise(log([record()]), FACTS, slo=Slo(ttft_s=bound)) for bound in (0.001, 9.0))
    assert strict.digest == lax.digest == _digest()


@pytest.mark.parametrize(
    "change",
    [
        {"trial_digest": "u"},
        {"load": OpenLoad(rate_rps=11.0)},
        {"load": ClosedLoad(users=10)},
        {"schedule_digest": "u"},
        {"warmup_s": 3.0},
        {"measure_s": 11.0},
        {"cache_policy": "natural"},
        {"stop": "natural"},
    ],
)
def test_whatever_changes_the_measurement_changes_its_digest(change: dict[str, Any]) -> None:
    assert _digest(**change) != _digest()


def _digest(**changes: Any) -> str:
    arguments: dict[str, Any] = {
        "trial_digest": "t",
        "load": OpenLoad(rate_rps=10.0),
        "schedule_digest": "s",
        "warmup_s": 2.0,
        "measure_s": 10.0,
        "cache_policy": "salted",
    }
    return measurement_digest(**(arguments | changes))
