import json
import math
from array import array
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord, Window
from orchestrator.domain.slo import Slo
from orchestrator.metrics import columns, latency
from orchestrator.metrics.intervals.pooled import pooled_distribution
from orchestrator.metrics.intervals.series import series_distribution
from orchestrator.metrics.names import flatten, metric_names
from orchestrator.metrics.percentiles import LEVELS, distribution, requests_needed
from orchestrator.metrics.slo import slo_attainment
from orchestrator.metrics.summary import MeasurementFacts, summarise

NS = 10**9
FACTS = MeasurementFacts("t", "s", "english", None, "natural", False, "2030-01-01T00:00:00+00:00", 0.0, "forced")
unhurried = settings(deadline=None)  # on two busy cores a single example may take long
finite = st.floats(min_value=-1e9, max_value=1e9)


@st.composite
def records(draw: st.DrawFn, index: int = 0) -> RequestRecord:
    """Draw a request as servers and networks may leave it: late, cut, silent, chunked, miscounted."""
    intended = draw(st.integers(0, 3 * NS))
    dispatched = intended + draw(st.integers(0, NS))
    failure = draw(st.sampled_from([None, None, None, *RequestFailure]))
    gaps = draw(st.lists(st.integers(0, NS), min_size=0 if failure else 1, max_size=6))
    chunk_ns = array("q")
    for gap in gaps:
        chunk_ns.append((chunk_ns[-1] if chunk_ns else dispatched) + gap)
    end = (chunk_ns[-1] if chunk_ns else dispatched) + draw(st.integers(0, NS))
    return RequestRecord(
        index=index,
        intended_ns=intended,
        dispatched_ns=dispatched,
        sent_ns=dispatched,
        chunk_ns=chunk_ns,
        end_ns=end,
        input_tokens=draw(st.none() | st.integers(1, 4096)),
        output_tokens_asked=None,
        output_tokens_server=draw(st.none() | st.integers(1, 12)),
        output_tokens_client=len(chunk_ns),
        finish_reason=draw(st.sampled_from(["stop", "length", None])),
        failure=failure,
    )


logs = st.lists(records(), max_size=60).map(
    lambda drawn: ReplayLog(
        load=OpenLoad(rate_rps=5.0),
        records=tuple(drawn),
        started_ns=0,
        window=Window(NS, 2 * NS),
        drained_ns=3 * NS,
        loop_lag_ns=array("q", [0]),
        client_cpu_ratio=None,
    )
)


@unhurried
@given(logs, st.floats(0.001, 5), st.floats(0.001, 5))
def test_any_log_gives_a_measurement_whose_parts_agree(log: ReplayLog, ttft_s: float, tpot_s: float) -> None:
    one = summarise(log, FACTS, slo=Slo(ttft_s=ttft_s, tpot_s=tpot_s))
    assert one.num_issued == one.num_completed + one.num_failed
    assert sum(one.failures.values()) == one.num_failed
    assert one.num_drained <= one.num_issued
    assert one.tpot_s.count <= one.ttft_s.count == one.e2e_s.count == one.num_completed
    if one.slo_attainment is not None and one.goodput_rps is not None:
        assert one.goodput_rps * one.window_s == pytest.approx(one.slo_attainment * one.num_issued)
        assert one.slo_attainment * one.num_issued <= one.num_completed + 1e-9


@unhurried
@given(logs)
def test_nothing_that_is_not_finite_leaves_a_measurement(log: ReplayLog) -> None:
    one = summarise(log, FACTS)
    assert all(math.isfinite(value) for value in _numbers(json.loads(one.to_json())))
    flat = flatten(one)
    assert set(flat) <= set(metric_names())
    assert all(math.isfinite(value) for value in flat.values())


@unhurried
@given(records())
def test_end_to_end_is_never_below_ttft_and_gaps_add_up_to_the_rest(one: RequestRecord) -> None:
    ttft_s, e2e_s, itls_s = latency.ttft_s(one), latency.e2e_s(one), latency.itls_s(one)
    if ttft_s is None or e2e_s is None:
        assert one.failure is not None
        return
    assert e2e_s == pytest.approx(ttft_s + sum(latency.chunk_gaps_s(one)))
    if itls_s is not None:
        assert sum(itls_s) == pytest.approx(e2e_s - ttft_s)


@unhurried
@given(st.lists(records(), min_size=1, max_size=30), st.floats(0.001, 2), st.floats(0, 2))
def test_a_looser_slo_is_never_attained_less(drawn: list[RequestRecord], bound_s: float, slack_s: float) -> None:
    tight = slo_attainment(drawn, Slo(e2e_s=bound_s))
    loose = slo_attainment(drawn, Slo(e2e_s=bound_s + slack_s))
    assert tight is not None
    assert loose is not None
    assert tight <= loose


@unhurried
@given(st.lists(finite, max_size=400))
def test_percentiles_rise_and_appear_exactly_where_the_sample_carries_them(values: list[float]) -> None:
    found = distribution(values)
    levels = {0.5: found.p50, 0.9: found.p90, 0.95: found.p95, 0.99: found.p99, 0.999: found.p999}
    assert {p for p, value in levels.items() if value is not None} == {
        p for p in levels if len(values) >= requests_needed(p)
    }
    reported = [value for value in levels.values() if value is not None]
    assert reported == sorted(reported)
    assert all(min(values) <= value <= max(values) for value in reported)


@unhurried
@given(st.lists(finite | st.sampled_from([0.0, 1.0]), min_size=1, max_size=120))
def test_intervals_hold_what_they_bound_and_what_is_withheld_says_what_it_needs(values: list[float]) -> None:
    for found in (series_distribution(np.array(values)), pooled_distribution(np.array_split(np.array(values), 15))):
        plain = distribution(values)
        assert 0 < found.effective_count <= found.count == len(values)
        for part in LEVELS:
            estimate = getattr(found, part)
            assert estimate in (None, getattr(plain, part))
            assert (part in found.intervals) is (estimate is not None) is (part not in found.needed)
            assert found.needed.get(part, math.inf) > found.count
            if estimate is not None:
                assert min(values) <= found.intervals[part].low <= estimate <= found.intervals[part].high <= max(values)


@unhurried
@given(records())
def test_columns_hold_the_gaps_of_the_formulas(one: RequestRecord) -> None:
    assert columns.chunk_gaps_s(one).tolist() == pytest.approx(latency.chunk_gaps_s(one))
    assert columns.itls_s(one).tolist() == pytest.approx(latency.itls_s(one) or [])


@unhurried
@given(st.floats(0.0001, 0.9999))
def test_the_needed_sample_is_the_smallest_that_bounds_both_tails(p: float) -> None:
    needed = requests_needed(p)
    worse = max(p, 1 - p)
    assert worse**needed <= 0.025 * (1 + 1e-9)
    assert worse ** (needed - 1) > 0.025 * (1 - 1e-9)


def _numbers(value: object) -> Iterator[float]:
    match value:
        case dict():
            for one in value.values():
                yield from _numbers(one)
        case list():
            for one in value:
                yield from _numbers(one)
        case int() | float():
            yield float(value)
        case _:
            return
