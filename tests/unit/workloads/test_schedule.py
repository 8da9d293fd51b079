from pathlib import Path

import numpy as np
import polars as pl
import pytest

from workloads.catalog import UnknownProfileError, load_profile, profile_names
from workloads.schedule import ScheduleError, build_closed_schedule, build_open_schedule
from workloads.trace import Trace, TraceError, TraceFacts
from workloads.workload import FixedSource, LengthScale, PublishedSource, TraceSource, Workload

S = 10**9


def make_trace(seconds: list[float], *, grid_s: float = 1e-7, block_ids: list[list[int]] | None = None) -> Trace:
    count = len(seconds)
    rows = pl.DataFrame(
        {
            "arrival_ns": pl.Series([round(one * S) for one in seconds], dtype=pl.Int64),
            "input_tokens": pl.Series([1000 + index for index in range(count)], dtype=pl.Int32),
            "output_tokens": pl.Series([10 + index for index in range(count)], dtype=pl.Int32),
            "is_failed": pl.Series([False] * count),
        }
    )
    if block_ids is not None:
        rows = rows.with_columns(pl.Series("block_ids", block_ids, dtype=pl.List(pl.Int64)))
    facts = TraceFacts("azure2023", "made", 100, round(grid_s * S), 512 if block_ids is not None else None)
    return Trace(rows, facts)


def trace_workload(**options: object) -> Workload:
    source = {key: options.pop(key) for key in ("start_s", "duration_s") if key in options}
    return Workload(source=TraceSource(path=Path("made"), **source), **options)  # type: ignore[arg-type]


def test_made_traffic_asks_the_same_at_each_rate() -> None:
    slow = build_open_schedule(Workload(), rate_rps=2, duration_s=30)
    fast = build_open_schedule(Workload(), rate_rps=8, duration_s=30)
    shared = len(slow)
    assert len(fast) > shared > 30
    assert fast.input_tokens[:shared].tolist() == slow.input_tokens.tolist()
    assert fast.output_tokens[:shared].tolist() == slow.output_tokens.tolist()
    assert fast.blocks is not None
    assert slow.blocks is not None
    assert [fast.blocks.of(i).tolist() for i in range(shared)] == [slow.blocks.of(i).tolist() for i in range(shared)]
    assert slow.intended_ns is not None
    assert fast.intended_ns is not None
    np.testing.assert_allclose(fast.intended_ns[:shared] * 4, slow.intended_ns, atol=4000 * shared)


def test_one_knob_leaves_the_other_draws_as_they_were() -> None:
    plain = build_open_schedule(Workload(), rate_rps=4, duration_s=20)
    shorter = build_open_schedule(Workload(lengths=LengthScale(input_factor=0.5)), rate_rps=4, duration_s=20)
    assert plain.intended_ns is not None
    assert shorter.intended_ns is not None
    assert shorter.intended_ns.tolist() == plain.intended_ns.tolist()
    assert shorter.output_tokens.tolist() == plain.output_tokens.tolist()
    assert shorter.input_tokens.tolist() != plain.input_tokens.tolist()
    assert shorter.digest != plain.digest


def test_seeds_differ() -> None:
    one, two = (build_open_schedule(Workload(seed=seed), rate_rps=4, duration_s=20) for seed in (1, 2))
    assert one.digest != two.digest
    assert one.input_tokens[:10].tolist() != two.input_tokens[:10].tolist()


def test_digest_is_the_one_of_every_machine() -> None:
    schedule = build_open_schedule(Workload(), rate_rps=4, duration_s=20)
    assert schedule.digest == build_open_schedule(Workload(), rate_rps=4, duration_s=20).digest
    assert schedule.digest == "e68019e6864e6bd9"
    assert build_closed_schedule(Workload(), num_requests=50).digest == "38b9264338cd4186"
    fixed = Workload(source=FixedSource(input_tokens=16, output_tokens=8), seed=3)
    assert build_open_schedule(fixed, rate_rps=5, duration_s=10).digest == "4cd574bf2e67f832"


def test_chat_lengths_have_the_published_figures() -> None:
    schedule = build_closed_schedule(Workload(), num_requests=50_000)
    assert np.median(schedule.input_tokens) == pytest.approx(1020, rel=0.02)
    assert schedule.input_tokens.mean() == pytest.approx(1155, rel=0.02)
    assert np.median(schedule.output_tokens) == pytest.approx(129, rel=0.02)
    assert schedule.output_tokens.mean() == pytest.approx(211, rel=0.05)
    assert abs(np.corrcoef(schedule.input_tokens, schedule.output_tokens)[0, 1]) < 0.02
    assert schedule.blocks is not None
    assert schedule.blocks.counts.mean() == pytest.approx(0.5, abs=0.01)
    assert set(schedule.blocks.values.tolist()) == {0, 1, 2, 3}


def test_a_closed_schedule_has_no_times() -> None:
    schedule = build_closed_schedule(Workload(), num_requests=7)
    assert len(schedule) == 7
    assert schedule.intended_ns is None
    assert schedule.realised_rps is None


def test_constant_pattern_is_even() -> None:
    workload = Workload(source=FixedSource(input_tokens=9, output_tokens=5, pattern="constant"))
    schedule = build_open_schedule(workload, rate_rps=4, duration_s=2)
    assert schedule.intended_ns is not None
    assert schedule.intended_ns.tolist() == [index * S // 4 for index in range(8)]
    assert set(schedule.input_tokens.tolist()) == {9}


def test_arrays_are_read_only() -> None:
    schedule = build_open_schedule(Workload(), rate_rps=4, duration_s=20)
    with pytest.raises(ValueError, match="read-only"):
        schedule.input_tokens[0] = 1


def test_scaling_states_factor_and_caps_and_keeps_one_token() -> None:
    workload = Workload(
        source=FixedSource(input_tokens=1000, output_tokens=4),
        lengths=LengthScale(input_factor=0.5, output_factor=0.01, max_input_tokens=300),
    )
    schedule = build_closed_schedule(workload, num_requests=3)
    assert schedule.input_tokens.tolist() == [300] * 3
    assert schedule.output_tokens.tolist() == [1] * 3
    facts = schedule.facts["lengths"]
    assert isinstance(facts, dict)
    assert (facts["input_factor"], facts["num_input_capped"], facts["num_output_capped"]) == (0.5, 3, 0)


def test_trace_at_its_own_rate_keeps_its_very_arrivals() -> None:
    trace = make_trace([0, 0.7, 1.1, 2.9, 3.0, 4.0])
    schedule = build_open_schedule(trace_workload(), rate_rps=1.25, duration_s=4, trace=trace)
    assert schedule.intended_ns is not None
    assert schedule.intended_ns.tolist() == trace.arrival_ns[:5].tolist()
    assert schedule.facts["arrivals"] == {"method": "compress", "time_factor": 1.0}


def test_trace_is_compressed_so_that_the_rate_is_met_over_what_is_replayed() -> None:
    slow_then_fast = [2.0 * index for index in range(50)] + [100 + 0.1 * index for index in range(1000)]
    schedule = build_open_schedule(trace_workload(), rate_rps=5, duration_s=8, trace=make_trace(slow_then_fast))
    assert schedule.realised_rps == 5
    assert schedule.facts["arrivals"] == {"method": "compress", "time_factor": 10.0}
    assert schedule.intended_ns is not None
    assert schedule.intended_ns[:3].tolist() == [0, S // 5, 2 * S // 5]


def test_windows_are_cut_and_counted_from_their_start() -> None:
    trace = make_trace([float(index) for index in range(100)])
    workload = trace_workload(start_s=10.5, duration_s=20)
    schedule = build_open_schedule(workload, rate_rps=1, duration_s=20, trace=trace)
    assert schedule.intended_ns is not None
    assert schedule.intended_ns[0] == S // 2
    assert schedule.input_tokens.tolist() == list(range(1011, 1031))


def test_a_trace_too_short_says_how_long_it_carries() -> None:
    trace = make_trace([float(index) for index in range(100)])
    with pytest.raises(TraceError, match=r"carries 10\.000 s, asked 60 s"):
        build_open_schedule(trace_workload(), rate_rps=10, duration_s=60, trace=trace)
    with pytest.raises(TraceError, match="carries 100 requests, asked 101"):
        build_closed_schedule(trace_workload(), num_requests=101, trace=trace)
    with pytest.raises(TraceError, match="after the trace"):
        build_open_schedule(trace_workload(start_s=90, duration_s=60), rate_rps=1, duration_s=5, trace=trace)


def test_thinning_keeps_nested_subsets_and_cannot_raise_the_rate() -> None:
    trace = make_trace([0.01 * index for index in range(10_000)])
    workload = trace_workload(rate_method="thin")
    low, high = (build_open_schedule(workload, rate_rps=rate, duration_s=90, trace=trace) for rate in (20, 50))
    assert set(low.input_tokens.tolist()) < set(high.input_tokens.tolist())
    assert low.realised_rps == pytest.approx(20, rel=0.1)
    with pytest.raises(TraceError, match="cannot raise the rate"):
        build_open_schedule(workload, rate_rps=200, duration_s=90, trace=trace)


def test_coarse_arrivals_are_spread_inside_their_cells_and_it_is_said() -> None:
    trace = make_trace([3.0 * (index // 5) for index in range(100)], grid_s=3)
    schedule = build_open_schedule(trace_workload(), rate_rps=100 / 60, duration_s=60, trace=trace)
    assert schedule.intended_ns is not None
    assert len(set(schedule.intended_ns.tolist())) == 100
    assert (schedule.intended_ns // (3 * S)).tolist() == [index // 5 for index in range(100)]
    window = schedule.facts["window"]
    assert isinstance(window, dict)
    assert window["spread_inside_s"] == 3


def test_shared_blocks_scale_with_the_input() -> None:
    trace = make_trace([0, 1, 2], block_ids=[[0, 1], [0, 2], [0, 3]])
    workload = trace_workload(lengths=LengthScale(input_factor=1 / 16))
    schedule = build_closed_schedule(workload, num_requests=3, trace=trace)
    assert schedule.block_tokens == 32
    assert schedule.blocks is not None
    assert [schedule.blocks.of(index).tolist() for index in range(3)] == [[0, 1], [0, 2], [0, 3]]
    capped = trace_workload(lengths=LengthScale(input_factor=1 / 16, max_input_tokens=20))
    blocks = build_closed_schedule(capped, num_requests=3, trace=trace).blocks
    assert blocks is not None
    assert blocks.values.tolist() == [0, 0, 0]


def test_impossible_loads_are_refused() -> None:
    with pytest.raises(ScheduleError, match="must be positive"):
        build_open_schedule(Workload(), rate_rps=float("nan"), duration_s=1)
    with pytest.raises(ScheduleError, match="sends nothing"):
        build_open_schedule(Workload(), rate_rps=0.001, duration_s=1)
    with pytest.raises(ScheduleError, match="at least 1"):
        build_closed_schedule(Workload(), num_requests=0)


def test_unknown_published_names_list_the_known_and_the_nearest() -> None:
    with pytest.raises(UnknownProfileError, match=r"'chatt', known: .*chat.*did you mean chat\?"):
        build_open_schedule(Workload(source=PublishedSource(name="chatt")), rate_rps=1, duration_s=1)


def test_every_published_profile_loads_and_names_its_sources() -> None:
    for name in profile_names():
        profile = load_profile(name)
        assert profile.name == name
        assert profile.sources
