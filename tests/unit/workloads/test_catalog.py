import numpy as np
import pytest

from workloads.catalog import load_profile, profile_names
from workloads.profile.reuse.lru import measure_lru
from workloads.schedule import Schedule, build_closed_schedule, build_open_schedule
from workloads.synthesis.knobs import Knobs
from workloads.synthesis.made_trace import make_trace
from workloads.workload import PublishedSource, Workload


def workload(name: str) -> Workload:
    return Workload(source=PublishedSource(name=name))


def closed(name: str, count: int = 5000) -> Schedule:
    return build_closed_schedule(workload(name), num_requests=count)


def test_the_catalogue_holds_these_workloads() -> None:
    assert set(profile_names()) == {
        "agentic",
        "bursty",
        "chat",
        "code",
        "long-context",
        "rag",
        "reasoning",
        "steady",
    }


@pytest.mark.parametrize("name", profile_names())
def test_each_workload_names_sources_and_assumptions_and_makes_traffic(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.sources
    assert profile.assumptions
    schedule = build_open_schedule(workload(name), rate_rps=2, duration_s=60)
    assert schedule.intended_ns is not None
    assert len(schedule) > 20


def test_bursty_and_steady_differ_in_arrivals_alone() -> None:
    bursty, steady = (load_profile(name).traffic for name in ("bursty", "steady"))
    assert bursty.arrivals != steady.arrivals
    assert bursty.model_dump(exclude={"arrivals", "rate_rps"}) == steady.model_dump(exclude={"arrivals", "rate_rps"})


def test_bursty_has_the_fano_factors_it_was_made_from() -> None:
    rate = load_profile("bursty").traffic.rate_rps
    assert rate is not None
    seconds = 40_000
    times = build_open_schedule(workload("bursty"), rate_rps=rate, duration_s=seconds).intended_ns
    assert times is not None
    for window_s, fano in ((1, 13.2), (10, 71.9)):
        counts = np.bincount(times // (window_s * 10**9), minlength=seconds // window_s)
        assert counts.var(ddof=1) / counts.mean() == pytest.approx(fano, rel=0.15)


def test_code_has_the_published_lengths() -> None:
    schedule = closed("code")
    assert np.quantile(schedule.input_tokens, [0.5, 0.99]) == pytest.approx([1469, 7436], rel=0.02)
    assert schedule.input_tokens.mean() == pytest.approx(2048, rel=0.03)
    assert np.quantile(schedule.output_tokens, [0.5, 0.99]) == pytest.approx([13, 251], rel=0.08)
    assert schedule.output_tokens.mean() == pytest.approx(27.9, rel=0.08)


def test_long_context_has_the_published_lengths() -> None:
    schedule = closed("long-context")
    assert np.quantile(schedule.input_tokens, [0.5, 0.99]) == pytest.approx([6909, 85_400], rel=0.03)
    assert schedule.input_tokens.mean() == pytest.approx(12_035, rel=0.05)
    assert np.quantile(schedule.output_tokens, [0.5, 0.99]) == pytest.approx([350, 1119], rel=0.03)
    assert schedule.output_tokens.mean() == pytest.approx(343, rel=0.03)


def test_long_context_is_reused_as_published() -> None:
    traffic = load_profile("long-context").traffic
    assert traffic.rate_rps is not None
    assert traffic.span_s is not None
    trace = make_trace(traffic, Knobs(), rate_rps=traffic.rate_rps, duration_s=traffic.span_s, seed=1)
    blocks, block_tokens = trace.block_ids, trace.facts.block_tokens
    assert blocks is not None
    assert block_tokens == 512
    points = {one.capacity_tokens: one.block_hit_ratio for one in measure_lru(blocks, block_tokens).points}
    published = {500_000: 0.045, 5_000_000: 0.21, 15_000_000: 0.33, 51_000_000: 0.36}
    assert {size: points[size] for size in published} == pytest.approx(published, abs=0.02)


def test_an_agents_context_grows_to_the_published_length_and_is_mostly_reused() -> None:
    schedule = closed("agentic", 4000)
    assert schedule.sessions is not None
    order = np.argsort(schedule.sessions, kind="stable")
    inputs, sessions = schedule.input_tokens[order], schedule.sessions[order]
    begins = np.flatnonzero(np.diff(sessions, prepend=-2))
    lengths = np.diff(np.append(begins, len(sessions)))
    assert np.median(lengths) <= 33
    ratio = schedule.input_tokens.sum() / schedule.output_tokens.sum()
    assert ratio == pytest.approx(131, rel=0.15)
    assert inputs.max() > 150_000


def test_reasoning_thinks_longer_than_it_is_asked() -> None:
    schedule = closed("reasoning")
    assert schedule.output_tokens.mean() > schedule.input_tokens.mean() * 0.5
    assert np.median(schedule.output_tokens) > 3 * np.median(closed("chat").output_tokens)
