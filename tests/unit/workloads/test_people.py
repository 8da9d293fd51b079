import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.profile.people.clients import describe_clients
from workloads.profile.people.concurrency import LatencyModel, describe_concurrency
from workloads.profile.people.quantiles import fit_quantiles
from workloads.profile.people.sessions import describe_sessions
from workloads.trace import NS_PER_S, Trace, TraceFacts


def trace_of(at_s: list[float], *, grid_s: float = 1e-9, **columns: object) -> Trace:
    plain: dict[str, object] = {
        "arrival_ns": np.rint(np.array(at_s) * NS_PER_S).astype(np.int64),
        "input_tokens": np.full(len(at_s), 100, dtype=np.int32),
        "output_tokens": np.full(len(at_s), 10, dtype=np.int32),
        "is_failed": [False] * len(at_s),
    }
    return Trace(pl.DataFrame({**plain, **columns}), TraceFacts("hand", "hand", 1, round(grid_s * NS_PER_S)))


def ids(values: list[int | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.UInt64)


def test_sessions_turns_and_think_times_are_read_off_by_hand() -> None:
    sessions = describe_sessions(trace_of([0, 1, 5, 6, 9], session_id=ids([7, 8, 7, None, 7])))
    assert sessions is not None
    assert (sessions.num_sessions, sessions.multi_turn_ratio) == (2, 0.5)
    assert (sessions.turns.mean, sessions.turns.max) == (2, 3)
    assert sessions.think_s is not None
    assert (sessions.think_s.mean, sessions.think_s.max) == (4.5, 5)
    assert sessions.is_think_from_arrivals


def test_think_time_leaves_out_the_time_of_the_answer() -> None:
    service = pl.Series([2 * NS_PER_S, 5 * NS_PER_S, None], dtype=pl.Int64)
    sessions = describe_sessions(trace_of([0, 5, 9], session_id=ids([7, 7, 7]), service_ns=service))
    assert sessions is not None
    assert sessions.think_s is not None
    assert sessions.think_s.max == 3
    assert sessions.think_s.mean == 1.5  # the second answer ended after the third turn was sent
    assert not sessions.is_think_from_arrivals


def test_a_growing_context_is_fitted_and_a_dropped_one_is_not() -> None:
    growing = trace_of([0, 5, 9], session_id=ids([7, 7, 7]), input_tokens=np.array([100, 130, 190], dtype=np.int32))
    model = describe_sessions(growing)
    assert model is not None
    assert model.model is not None
    assert (model.model.new_tokens.tokens[0], model.model.new_tokens.tokens[-1]) == (20, 50)  # type: ignore[union-attr]
    assert model.model.max_context_tokens == 200
    flat = describe_sessions(trace_of([0, 5, 9], session_id=ids([7, 7, 7])))
    assert flat is not None
    assert flat.model is None


def test_a_trace_without_times_has_turns_and_neither_think_times_nor_concurrency() -> None:
    trace = trace_of([0, 0, 0], session_id=ids([7, 7, 7]), input_tokens=np.array([100, 130, 190], dtype=np.int32))
    sessions = describe_sessions(trace)
    assert sessions is not None
    assert (sessions.turns.max, sessions.think_s, sessions.model) == (3, None, None)
    assert describe_concurrency(trace, LatencyModel(base_s=1)) is None


def test_without_sessions_or_clients_nothing_is_said() -> None:
    trace = trace_of([0, 1])
    assert describe_sessions(trace) is None
    assert describe_clients(trace) is None
    nobody = trace_of([0, 1], session_id=ids([None, None]), client_id=ids([None, None]))
    assert describe_sessions(nobody) is None
    assert describe_clients(nobody) is None


def test_single_turns_have_no_think_time_and_no_model() -> None:
    sessions = describe_sessions(trace_of([0, 1], session_id=ids([1, 2])))
    assert sessions is not None
    assert (sessions.think_s, sessions.model, sessions.multi_turn_ratio) == (None, None, 0)


def test_clients_shares_and_rates_are_read_off_by_hand() -> None:
    who = [1] * 6 + [2] * 3 + [3]
    clients = describe_clients(trace_of([float(one) for one in range(10)], client_id=ids(list(who))))
    assert clients is not None
    assert (clients.num_clients, clients.num_for_half) == (3, 1)
    assert (clients.top_1_share, clients.top_10_share) == (pytest.approx(0.6), pytest.approx(1))
    assert [one.rank for one in clients.top] == [1, 2, 3]
    assert [one.rate_rps for one in clients.top] == pytest.approx([0.6, 0.3, 0.1])
    assert [one.cv for one in clients.top] == [None, None, None]


def many_clients(grid_s: float = 1e-9) -> Trace:
    generator = np.random.default_rng(1)
    steady, bursty = np.arange(1, 401) * 2.0, np.cumsum(generator.gamma(0.1, 10 * 2.0, 400))
    rare = np.sort(generator.uniform(0, 800, 300))
    times = np.concatenate([steady, bursty, rare])
    who = np.concatenate([np.full(400, 1), np.full(400, 2), 3 + np.arange(300)])
    order = np.argsort(times, kind="stable")
    return trace_of((times[order] - times.min()).tolist(), grid_s=grid_s, client_id=ids(who[order].tolist()))


def test_each_client_has_its_own_burstiness_and_the_rest_is_one() -> None:
    clients = describe_clients(many_clients())
    assert clients is not None
    cvs = sorted(one.cv for one in clients.top[:2] if one.cv is not None)
    assert cvs[0] == pytest.approx(0, abs=0.01)
    assert cvs[1] == pytest.approx(10**0.5, rel=0.25)
    assert len(clients.top) == 20
    assert clients.top[5].cv is None
    assert clients.model is not None
    assert len(clients.model.clients) == 201
    assert sum(one.share for one in clients.model.clients) == pytest.approx(1)
    assert clients.model.clients[-1].share == pytest.approx((302 - 200) / 1100)
    assert clients.model.clients[-1].cv == pytest.approx(1, abs=0.25)


def test_on_a_grid_clients_have_shares_but_no_burstiness() -> None:
    clients = describe_clients(many_clients(grid_s=3))
    assert clients is not None
    assert clients.model is None
    assert {one.cv for one in clients.top} == {None}


def services(seconds: list[float | None]) -> pl.Series:
    return pl.Series([None if one is None else round(one * NS_PER_S) for one in seconds], dtype=pl.Int64)


def test_concurrency_is_swept_from_recorded_service_times() -> None:
    swept = describe_concurrency(trace_of([0, 1, 2, 10], service_ns=services([5, 1, 1, 1])), None)
    assert swept is not None
    assert (swept.source, swept.latency_model) == ("measured", None)
    assert (swept.peak, swept.peak_at_s) == (2, 1)  # a request that ends as another starts is not beside it
    assert swept.mean == pytest.approx(7 / 10)
    assert (swept.p50, swept.p99) == (0, 2)


def test_a_stated_latency_is_named() -> None:
    latency = LatencyModel(base_s=1, per_input_token_s=0.01, per_output_token_s=0.1)
    swept = describe_concurrency(trace_of([0, 1, 2, 100], service_ns=services([1, None, 1, 1])), latency)
    assert swept is not None
    assert swept.source == "stated"
    assert swept.latency_model == "1 s + 0.01 s an input token + 0.1 s an output token"
    assert (swept.peak, swept.peak_at_s) == (3, 2)


def test_without_service_times_or_a_model_there_is_no_concurrency() -> None:
    assert describe_concurrency(trace_of([0, 1]), None) is None
    assert describe_concurrency(trace_of([0, 1], service_ns=services([1, None])), None) is None
    assert describe_concurrency(trace_of([0, 1], is_failed=[True, True]), LatencyModel(base_s=1)) is None
    assert describe_concurrency(trace_of([0, 0]), LatencyModel()) is None


def test_failed_requests_are_not_in_flight() -> None:
    trace = trace_of([0, 1, 2, 10], service_ns=services([5, None, 1, 1]), is_failed=[False, True, False, False])
    swept = describe_concurrency(trace, None)
    assert swept is not None
    assert (swept.peak, swept.peak_at_s) == (2, 2)


def test_one_request_is_in_flight_alone() -> None:
    swept = describe_concurrency(trace_of([0], service_ns=services([2])), None)
    assert swept is not None
    assert (swept.mean, swept.peak) == (1, 1)


def test_a_coarse_grid_is_noted() -> None:
    swept = describe_concurrency(trace_of([0, 3, 6], grid_s=3), LatencyModel(base_s=1))
    assert swept is not None
    assert "grid of 3 s" in swept.notes[0]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=2, max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_sweep_agrees_with_looking_at_every_second(requests: list[tuple[int, int]]) -> None:
    requests = sorted(requests)
    first = requests[0][0]
    starts = np.array([start - first for start, _ in requests])
    ends = starts + np.array([length for _, length in requests])
    swept = describe_concurrency(trace_of(starts.tolist(), service_ns=services((ends - starts).tolist())), None)
    until = int(starts[-1]) or int(ends.max())
    levels = np.array([np.sum((starts <= second) & (second < ends)) for second in range(until)])
    if swept is None:
        assert until == 0
        return
    assert swept.mean == pytest.approx(levels.mean())
    assert swept.peak == max(levels.max(), np.sum((starts <= until) & (until < ends)))
    assert swept.p50 == np.quantile(levels, 0.5, method="inverted_cdf")


def test_a_quantile_model_spans_the_values() -> None:
    model = fit_quantiles(np.arange(1001, dtype=np.float64))
    assert (model.tokens[0], model.tokens[50], model.tokens[-1]) == (0, 500, 1000)
