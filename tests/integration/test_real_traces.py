"""The published figures of four public trace files, wherever those files are at hand."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from workloads.profile.model import TraceProfile
from workloads.profile.whole import profile_trace
from workloads.readers import read_trace
from workloads.schedule import build_open_schedule
from workloads.workload import LengthScale, TraceSource, Workload

pytestmark = pytest.mark.traces

FOLDER = Path(os.environ.get("SEATRIAL_TRACES", Path(__file__).parents[3] / "shared" / "traces"))
CODE = "azure2023/AzureLLMInferenceTrace_code.csv"
CONV = "azure2023/AzureLLMInferenceTrace_conv.csv"
MOONCAKE = "mooncake/conversation_trace.jsonl"
BURSTGPT = "burstgpt/BurstGPT_1.first400.csv"

# rows, failed, span, rate, gap CV, Fano at 1, 10, 60 s, input mean p50 p99 max, output mean p50 p99 max
PUBLISHED = {
    CODE: (8819, 0, 3435.9, 2.566, 13.15, (13.2, 71.9, 166.9), (2048, 1469, 7436, 7437), (27.9, 13, 251, 1899)),
    CONV: (19366, 0, 3501.7, 5.530, 1.094, (1.39, 3.87, 16.4), (1155, 1020, 4142, 14050), (211, 129, 601, 1000)),
    MOONCAKE: (12031, 0, 3537, 3.401, None, (None,) * 3, (12035, 6909, 85400, 126195), (343, 350, 1119, 2000)),
    BURSTGPT: (400, 17, 37269, 0.0107, 4.57, (1.00, 1.23, 2.78), (521, 314, 1958, 2126), (277, 230, 1421, 2019)),
}


def real(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no {name} under {FOLDER}; set SEATRIAL_TRACES to the folder of the public traces")
    return path


def near(value: float | None) -> object:
    return None if value is None else pytest.approx(value, rel=0.005)


@cache
def profiled(name: str) -> TraceProfile:
    return profile_trace(read_trace(real(name)))


@pytest.mark.parametrize("name", PUBLISHED)
def test_arrivals_are_the_published_ones(name: str) -> None:
    profile = profiled(name)
    rows, failed, span_s, rate_rps, cv, fano, _, _ = PUBLISHED[name]
    assert (profile.num_requests, profile.num_failed) == (rows, failed)
    assert profile.span_s == near(span_s)
    assert profile.rate_rps == near(rate_rps)
    assert profile.arrivals.cv == near(cv)
    assert [profile.arrivals.fano[window] for window in ("1", "10", "60")] == [near(one) for one in fano]


@pytest.mark.parametrize("name", PUBLISHED)
def test_lengths_are_the_published_ones(name: str) -> None:
    profile = profiled(name)
    for lengths, (mean, p50, p99, longest) in zip(
        (profile.input_tokens, profile.output_tokens), PUBLISHED[name][-2:], strict=True
    ):
        assert lengths.mean == near(mean)
        assert abs(lengths.p50 - p50) <= 0.5  # published as whole numbers
        assert lengths.p99 == near(p99)
        assert lengths.max == longest


def test_mooncake_reuse_is_the_published_one() -> None:
    prefix = profiled(MOONCAKE).prefix
    assert prefix is not None
    assert prefix.token_reuse_ratio == near(0.374)
    assert prefix.block_reuse_ratio == near(0.366)
    assert prefix.block_reuse_ratio_without_first == near(0.325)
    hits = {point.capacity_tokens: point.block_hit_ratio for point in prefix.lru}
    published = {500_000: 0.045, 5_000_000: 0.21, 15_000_000: 0.33, 51_000_000: 0.36}
    assert {capacity: hits[capacity] for capacity in published} == pytest.approx(published, abs=0.01)


def test_a_window_of_azure_conv_at_its_own_rate_is_the_trace_itself() -> None:
    trace = read_trace(real(CONV))
    workload = Workload(source=TraceSource(path=real(CONV), start_s=600, duration_s=120))
    inside = trace.arrival_ns[(trace.arrival_ns >= 600 * 10**9) & (trace.arrival_ns < 720 * 10**9)]
    schedule = build_open_schedule(workload, rate_rps=len(inside) / 120, duration_s=120)
    assert schedule.intended_ns is not None
    np.testing.assert_array_equal(schedule.intended_ns, inside - 600 * 10**9)


def test_scaled_mooncake_keeps_its_sharing() -> None:
    source = TraceSource(path=real(MOONCAKE), start_s=300, duration_s=600)
    plain = build_open_schedule(Workload(source=source), rate_rps=2, duration_s=60)
    scaled = build_open_schedule(
        Workload(source=source, lengths=LengthScale(input_factor=1 / 16)), rate_rps=2, duration_s=60
    )
    assert plain.blocks is not None
    assert scaled.blocks is not None
    assert scaled.block_tokens == 32
    assert abs(len(scaled.blocks.values) - len(plain.blocks.values)) <= len(plain)
