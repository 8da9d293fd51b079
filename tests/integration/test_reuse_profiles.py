"""Reuse of Mooncake's conversation trace against its published figures, and of traffic made from its table."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from workloads.blocks import BlockIds
from workloads.profile.reuse.describe import describe_prefixes
from workloads.profile.reuse.hits import lru_hit_ratio
from workloads.profile.reuse.lru import measure_lru
from workloads.profile.reuse.model import Prefix
from workloads.readers import read_trace
from workloads.streams import uniforms
from workloads.synthesis.prefixes import draw_prefixes
from workloads.trace import Trace

pytestmark = pytest.mark.traces

FOLDER = Path(os.environ.get("SEATRIAL_TRACES", Path(__file__).parents[3] / "shared" / "traces"))
MOONCAKE = FOLDER / "mooncake/conversation_trace.jsonl"
CAPACITIES_TOKENS = (500_000, 5_000_000, 15_000_000, 51_000_000)
TWO_POINTS = 0.02


@cache
def _read() -> Trace:
    return read_trace(MOONCAKE)


@pytest.fixture
def trace() -> Trace:
    if not MOONCAKE.is_file():
        pytest.skip(f"no {MOONCAKE.name} under {FOLDER}; set SEATRIAL_TRACES to the folder of the public traces")
    return _read()


def described(trace: Trace) -> Prefix:
    prefix = describe_prefixes(trace)
    assert prefix is not None
    return prefix


def hit_ratios(blocks: BlockIds) -> list[float]:
    points = measure_lru(blocks, 512).points
    return [point.block_hit_ratio for point in points if point.capacity_tokens in CAPACITIES_TOKENS]


def test_reuse_is_the_published_one(trace: Trace) -> None:
    prefix = described(trace)
    assert prefix.token_reuse_ratio == pytest.approx(0.374, abs=0.0005)
    assert prefix.block_reuse_ratio == pytest.approx(0.366, abs=0.0005)
    assert prefix.block_reuse_ratio_without_first == pytest.approx(0.325, abs=0.0005)
    assert prefix.shared_first_block_ratio == 1
    assert prefix.reuse_interval_p50_s == pytest.approx(135, abs=0.5)
    assert prefix.reuse_interval_p90_s == pytest.approx(531, abs=0.5)
    published = [point.block_hit_ratio for point in prefix.lru if point.capacity_tokens in CAPACITIES_TOKENS]
    assert published == pytest.approx([0.045, 0.21, 0.33, 0.36], abs=0.01)


def test_the_curve_is_that_of_replayed_caches(trace: Trace) -> None:
    blocks = trace.block_ids
    assert blocks is not None
    replayed = [lru_hit_ratio(blocks, tokens // 512) for tokens in CAPACITIES_TOKENS]
    assert hit_ratios(blocks) == pytest.approx(replayed, abs=1e-12)


def test_half_of_the_blocks_give_nearly_the_whole_curve(trace: Trace) -> None:
    blocks = trace.block_ids
    assert blocks is not None
    whole, half = measure_lru(blocks, 512), measure_lru(blocks, 512, max_blocks=blocks.values.size // 2)
    assert half.sampled_ratio == pytest.approx(0.5, abs=1e-4)
    for point, other in zip(whole.points, half.points, strict=False):
        assert other.block_hit_ratio == pytest.approx(point.block_hit_ratio, abs=TWO_POINTS)


@pytest.mark.parametrize("seed", range(5))
def test_a_twin_with_lengths_of_its_own_hits_caches_as_often_as_the_trace(trace: Trace, seed: int) -> None:
    prefix, blocks = described(trace), trace.block_ids
    assert prefix.tree is not None
    assert blocks is not None
    drawn = np.quantile(trace.input_tokens, uniforms(seed, "input_lengths", len(trace))).astype(np.int32)
    twin = draw_prefixes(prefix.tree, drawn, seed=seed)
    assert hit_ratios(twin) == pytest.approx(hit_ratios(blocks), abs=TWO_POINTS)


def test_the_table_survives_being_written(trace: Trace) -> None:
    prefix = described(trace)
    assert Prefix.model_validate_json(prefix.model_dump_json()) == prefix
