from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from workloads.model import (
    FamilyLengths,
    PoissonArrivals,
    QuantileLengths,
    SessionModel,
    SharedPrompts,
    TrafficModel,
)
from workloads.schedule import build_closed_schedule, build_open_schedule
from workloads.synthesis.knobs import Burst, Knobs
from workloads.synthesis.made_trace import make_trace
from workloads.synthesis.make import make_part
from workloads.synthesis.parts import Part
from workloads.trace import Trace
from workloads.workload import ProfileSource, TraceSource, Workload

S = 10**9


def flat(low: float, high: float) -> QuantileLengths:
    return QuantileLengths(probabilities=(0, 1), tokens=(low, high))


MODEL = TrafficModel(
    arrivals=PoissonArrivals(),
    input_tokens=flat(200, 400),
    output_tokens=flat(10, 50),
    prefix=SharedPrompts(tokens=128, num_prefixes=2, share_ratio=0.5),
    sessions=SessionModel(
        turns=flat(1, 9),
        think_s=FamilyLengths(family="exponential", parameters={"mean": 10}, max=100),
        new_tokens=flat(20, 100),
        max_context_tokens=900,
    ),
)


def make(model: TrafficModel = MODEL, *, rate: float = 20, seed: int = 4, **knobs: object) -> Part:
    return make_part(
        model,
        Knobs(**knobs),
        rate_rps=rate,
        duration_s=100,
        seed=seed,
        rate_method="compress",  # type: ignore[arg-type]
    )[0]


def rows_of(part: Part, session: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    assert part.requests.sessions is not None
    return np.flatnonzero(part.requests.sessions == session)


def test_turns_follow_each_other_and_hold_the_context_before() -> None:
    part = make()
    requests = part.requests
    assert requests.sessions is not None
    assert np.all(np.diff(part.arrival_ns) >= 0)
    num_followed = 0
    for session in np.unique(requests.sessions):
        rows = rows_of(part, int(session))
        for before, after in pairwise(rows.tolist()):
            context = int(requests.input_tokens[before]) + int(requests.output_tokens[before])
            assert requests.input_tokens[after] >= min(900, context + 20)
            num_followed += 1
    assert num_followed > 500
    assert requests.input_tokens.max() == 900


def test_turns_share_the_full_blocks_of_the_turn_before() -> None:
    part = make()
    requests = part.requests
    assert requests.sessions is not None
    assert requests.blocks is not None
    assert requests.block_tokens == 64
    for session in np.unique(requests.sessions)[:50]:
        rows = rows_of(part, int(session))
        for before, after in pairwise(rows.tolist()):
            earlier = requests.blocks.of(before).tolist()
            assert len(earlier) == requests.input_tokens[before] // 64
            assert requests.blocks.of(after).tolist()[: len(earlier)] == earlier


def test_sessions_share_nothing_but_the_shared_prompts() -> None:
    requests = make().requests
    assert requests.sessions is not None
    assert requests.blocks is not None
    first: dict[int, int] = {}
    owners: dict[int, set[int]] = {}
    for row, session in enumerate(requests.sessions.tolist()):
        ids = requests.blocks.of(row).tolist()
        first[session] = ids[0]
        for one in ids:
            owners.setdefault(one, set()).add(session)
    assert {one for one, sessions in owners.items() if len(sessions) > 1} == {0, 1, 2, 3}
    assert np.mean([one in {0, 2} for one in first.values()]) == pytest.approx(0.5, abs=0.1)


def test_the_rate_counts_requests_and_holds_from_the_start() -> None:
    totals = [make(seed=seed).arrival_ns for seed in range(5)]
    assert np.mean([len(one) for one in totals]) == pytest.approx(2000, rel=0.08)
    assert np.mean([np.count_nonzero(one < 20 * S) for one in totals]) == pytest.approx(400, rel=0.15)


def test_first_prompts_have_a_distribution_of_their_own_where_it_is_known() -> None:
    assert MODEL.sessions is not None
    short = MODEL.sessions.model_copy(update={"first_tokens": flat(5, 5), "turns": flat(1, 1)})
    assert set(make(MODEL.model_copy(update={"sessions": short})).requests.input_tokens.tolist()) == {5}


def test_schedules_carry_the_sessions() -> None:
    workload = Workload(source=ProfileSource(traffic=MODEL))
    schedule = build_open_schedule(workload, rate_rps=5, duration_s=30)
    assert schedule.sessions is not None
    assert len(schedule.sessions) == len(schedule)
    closed = build_closed_schedule(workload, num_requests=40)
    assert closed.sessions is not None
    assert len(np.unique(closed.sessions)) < 40
    trace = make_trace(MODEL, Knobs(), rate_rps=5, duration_s=60, seed=1)
    assert trace.rows["session_id"].n_unique() < len(trace)


def test_no_session_at_all_is_no_request() -> None:
    part = make(rate=1e-9)
    assert len(part.requests) == 0
    assert part.requests.blocks is not None
    assert len(part.requests.blocks) == 0


def test_a_burst_of_sessions_brings_first_turns() -> None:
    plain, burst = make(), make(burst=Burst(at_s=40, width_s=10, height=4))
    added = len(burst.requests) - len(plain.requests)
    assert added == pytest.approx(600, rel=0.15)
    outside = (burst.arrival_ns < 40 * S) | (burst.arrival_ns >= 50 * S)
    assert np.count_nonzero(outside) == np.count_nonzero((plain.arrival_ns < 40 * S) | (plain.arrival_ns >= 50 * S))


def test_a_window_of_a_trace_carries_its_sessions(tmp_path: Path) -> None:
    trace = make_trace(MODEL, Knobs(), rate_rps=5, duration_s=60, seed=1)
    salted = trace.rows.with_columns(pl.col("session_id") * 7919 % 1009)
    salted = salted.with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("session_id").alias("session_id")
    )
    workload = Workload(source=TraceSource(path=tmp_path / "made"))
    schedules = [
        build_closed_schedule(workload, num_requests=50, trace=Trace(rows, trace.facts))
        for rows in (trace.rows, salted)
    ]
    plain, other = (one.sessions for one in schedules)
    assert plain is not None
    assert other is not None
    assert plain[0] == 0
    assert other[3] == -1
    pairs = {pair for row, pair in enumerate(zip(plain.tolist(), other.tolist(), strict=True)) if row != 3}
    assert len(pairs) == len({one for one, _ in pairs}) == len({one for _, one in pairs})
