from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workloads.blocks import make_blocks
from workloads.profile.arrivals.unevenness import fano_factor, gap_cv
from workloads.profile.model import TraceProfile
from workloads.profile.reuse.hits import lru_hit_ratio
from workloads.profile.whole import profile_trace
from workloads.readers import read_trace

Write = Callable[[str], Path]
Rows = dict[str, str]


def test_lengths_and_rate_of_a_hand_written_trace(rows: Rows, write: Write) -> None:
    profile = profile_trace(read_trace(write(rows["azure2023"])))
    assert profile.num_requests == 3
    assert profile.span_s == pytest.approx(4.5418769)
    assert profile.rate_rps == pytest.approx(2 / 4.5418769)
    assert profile.input_tokens.p50 == 396
    assert profile.input_tokens.p90 == pytest.approx(396 + 0.8 * (879 - 396))
    assert (profile.input_tokens.min, profile.input_tokens.max) == (374, 879)
    assert profile.prefix is None
    assert TraceProfile.model_validate_json(profile.model_dump_json()) == profile


def test_failed_requests_count_as_recorded_and_the_answered_stand_beside(rows: Rows, write: Write) -> None:
    profile = profile_trace(read_trace(write(rows["burstgpt"])))
    assert (profile.num_requests, profile.num_failed) == (3, 1)
    assert profile.input_tokens.min == 0
    assert profile.answered_input_tokens is not None
    assert profile.answered_input_tokens.min == 417


def test_reuse_of_blocks(rows: Rows, write: Write) -> None:
    prefix = profile_trace(read_trace(write(rows["mooncake"]))).prefix
    assert prefix is not None
    assert (prefix.num_blocks, prefix.num_distinct_blocks) == (6, 3)
    assert prefix.block_reuse_ratio == pytest.approx(3 / 6)
    assert prefix.block_reuse_ratio_without_first == pytest.approx(1 / 6)
    assert prefix.token_reuse_ratio == pytest.approx((512 + 512 + 88) / (600 + 1024 + 600))


def test_lru_hits_end_at_the_first_miss() -> None:
    offsets = np.array([0, 2, 4, 6])
    blocks = make_blocks(offsets, np.array([1, 2, 3, 4, 1, 2]))
    assert lru_hit_ratio(blocks, 4) == pytest.approx(2 / 6)
    assert lru_hit_ratio(blocks, 2) == 0
    evicted_head = make_blocks(np.array([0, 2, 3, 5]), np.array([1, 2, 3, 1, 2]))
    assert lru_hit_ratio(evicted_head, 2) == 0


def test_fano_leaves_out_the_partly_covered_window() -> None:
    arrivals = np.array([0, 100, 200, 1_000, 2_000, 2_100, 2_500], dtype=np.int64) * 1_000_000
    assert fano_factor(arrivals, 1) == pytest.approx(np.var([3, 1], ddof=1) / 2)
    assert fano_factor(arrivals, 10) is None


def test_cv_of_even_gaps_is_zero_and_of_few_is_absent() -> None:
    assert gap_cv(np.array([5, 5, 5])) == 0
    assert gap_cv(np.array([5])) is None
    assert gap_cv(np.array([0, 0])) is None


def test_arrival_figures_are_absent_on_an_observed_grid(write: Write) -> None:
    stamps = [step * 3000 for step in range(200) for _ in range(3)]
    lines = [f'{{"timestamp": {stamp}, "input_length": 5, "output_length": 4}}' for stamp in stamps]
    profile = profile_trace(read_trace(write("\n".join(lines))))
    assert profile.arrivals.cv is None
    assert set(profile.arrivals.fano.values()) == {None}
    assert any("no gap CV" in note for note in profile.notes)
    assert any("no Fano factor" in note for note in profile.notes)


def test_gap_cv_is_absent_where_gaps_are_no_longer_than_the_step(write: Write) -> None:
    head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = "".join(f"{second},m,1,2,3,x\n" for second in range(300))
    arrivals = profile_trace(read_trace(write(head + rows))).arrivals
    assert arrivals.cv is None
    assert arrivals.fano["10"] == 0


def test_requests_at_one_instant_have_no_rate(write: Write) -> None:
    line = '{"timestamp": 7, "input_length": 5, "output_length": 4}\n'
    profile = profile_trace(read_trace(write(line * 3)))
    assert profile.rate_rps is None
    assert profile.arrivals.cv is None
