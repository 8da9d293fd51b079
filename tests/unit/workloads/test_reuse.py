import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.profile.reuse.describe import describe_prefixes
from workloads.profile.reuse.distances import count_smaller_before, stack_distances
from workloads.profile.reuse.hits import lru_hit_ratio, previous_positions
from workloads.profile.reuse.lru import measure_lru
from workloads.profile.reuse.model import Prefix
from workloads.profile.reuse.table import MAX_ROWS, find_parents, fit_tree
from workloads.trace import Trace, TraceFacts

PROMPTS = st.lists(st.lists(st.integers(0, 12), max_size=6), min_size=1, max_size=40).filter(any)


def blocks_of(prompts: list[list[int]]) -> BlockIds:
    ids = np.array([one for prompt in prompts for one in prompt], dtype=np.int64)
    return make_blocks(offsets_of(np.array([len(prompt) for prompt in prompts], dtype=np.int64)), ids)


def trace_of(prompts: list[list[int]], *, at_s: list[float] | None = None, block_tokens: int = 10) -> Trace:
    times = at_s if at_s is not None else [float(index) for index in range(len(prompts))]
    lengths = [len(prompt) * block_tokens for prompt in prompts]
    rows = pl.DataFrame(
        {
            "arrival_ns": (np.array(times) * 1e9).astype(np.int64),
            "input_tokens": np.array(lengths, dtype=np.int32),
            "output_tokens": np.ones(len(prompts), dtype=np.int32),
            "is_failed": [False] * len(prompts),
            "block_ids": pl.Series(prompts, dtype=pl.List(pl.Int64)),
        }
    )
    return Trace(rows, TraceFacts("hand", "hand", 1, 1, block_tokens=block_tokens))


def described(prompts: list[list[int]], **options: object) -> Prefix:
    prefix = describe_prefixes(trace_of(prompts, **options))  # type: ignore[arg-type]
    assert prefix is not None
    return prefix


@given(PROMPTS)
@settings(max_examples=150, deadline=None)
def test_the_one_pass_curve_is_that_of_a_cache_replayed_at_each_size(prompts: list[list[int]]) -> None:
    blocks = blocks_of(prompts)
    for point in measure_lru(blocks, 10_000).points:
        if point.capacity_tokens >= 10_000:
            expected = lru_hit_ratio(blocks, point.capacity_tokens // 10_000)
            assert point.block_hit_ratio == pytest.approx(expected, abs=1e-12)


@given(PROMPTS, st.integers(1, 14))
@settings(max_examples=150, deadline=None)
def test_a_cache_holds_a_block_from_its_stack_distance_on(prompts: list[list[int]], capacity: int) -> None:
    ids = blocks_of(prompts).values
    distances = stack_distances(previous_positions(ids))
    alone = make_blocks(np.arange(ids.size + 1), ids)
    assert np.mean(distances <= min(capacity, ids.size)) == pytest.approx(lru_hit_ratio(alone, capacity))


@given(st.permutations(list(range(23))))
def test_smaller_elements_before_are_counted(order: list[int]) -> None:
    expected = [sum(other < one for other in order[:place]) for place, one in enumerate(order)]
    assert count_smaller_before(np.array(order)).tolist() == expected


def test_a_hash_sample_gives_nearly_the_exact_curve() -> None:
    generator = np.random.default_rng(3)
    sessions = (generator.pareto(1.0, 40_000) * 40).astype(np.int64) % 2000
    ids = (sessions[:, None] * 8 + np.arange(8)).ravel()
    blocks = make_blocks(np.arange(0, ids.size + 1, 8), ids)
    exact, sampled = measure_lru(blocks, 1000), measure_lru(blocks, 1000, max_blocks=80_000)
    assert exact.sampled_ratio is None
    assert sampled.sampled_ratio == pytest.approx(0.25)
    pairs = list(zip(exact.points, sampled.points, strict=False))
    errors = [abs(point.block_hit_ratio - other.block_hit_ratio) for point, other in pairs]
    assert len(errors) > 10
    assert max(errors) < 0.05
    assert np.mean(errors) < 0.02


def test_reuse_figures_of_prompts_written_by_hand() -> None:
    prefix = described([[1, 2, 3], [9], [1, 2, 4], [1, 2, 4, 5]], at_s=[0, 1, 10, 14])
    assert (prefix.num_blocks, prefix.num_distinct_blocks) == (11, 6)
    assert prefix.block_reuse_ratio == pytest.approx(5 / 11)
    assert prefix.token_reuse_ratio == pytest.approx(5 / 11)
    assert prefix.block_reuse_ratio_without_first == pytest.approx(3 / 11)
    assert prefix.shared_first_block_ratio == pytest.approx(3 / 4)
    assert prefix.reuse_interval_p50_s == pytest.approx(4)
    assert prefix.reuse_interval_p90_s == pytest.approx(8.8)


def test_nothing_shared_has_no_interval_and_no_tree() -> None:
    prefix = described([[1, 2], [3], [4, 5]])
    assert prefix.block_reuse_ratio == 0
    assert prefix.shared_first_block_ratio == 0
    assert (prefix.reuse_interval_p50_s, prefix.tree) == (None, None)


def test_a_trace_without_block_ids_has_no_prefix_figures() -> None:
    trace = trace_of([[1], [1]])
    assert describe_prefixes(Trace(trace.rows.drop("block_ids"), trace.facts)) is None
    assert describe_prefixes(trace_of([[], []])) is None


def test_capacities_rise_and_hold_the_four_named_ones() -> None:
    capacities = [point.capacity_tokens for point in described([[1, 2], [1, 2]]).lru]
    assert capacities == sorted(set(capacities))
    assert {500_000, 5_000_000, 15_000_000, 51_000_000} <= set(capacities)


def test_the_parent_is_the_latest_that_used_the_last_shared_block() -> None:
    blocks = blocks_of([[1, 2, 3], [1, 2, 4], [7], [1, 2, 3, 5], [1, 8]])
    shared, distances = find_parents(blocks, previous_positions(blocks.values))
    assert shared.tolist() == [0, 2, 0, 3, 1]
    assert distances.tolist() == [0, 1, 0, 3, 1]


def test_equal_rows_of_the_table_are_one_with_their_weight() -> None:
    tree = described([[1], [1], [1], [1]]).tree
    assert tree is not None
    assert (tree.input_blocks, tree.shared_blocks, tree.distances) == ((1, 1), (0, 1), (0, 1))
    assert tree.weights == pytest.approx((0.25, 0.75))
    assert (tree.parent_blocks, tree.num_requests) == ((0, 1), 4)


def test_a_thinned_table_keeps_lengths_and_sharing() -> None:
    generator = np.random.default_rng(8)
    counts = generator.integers(2, 400, 9000)
    shared = (counts * generator.random(9000) ** 3).astype(np.int64)
    prompts = [np.arange(10**6 * (index + 1), 10**6 * (index + 1) + count) for index, count in enumerate(counts)]
    for index in range(1, 9000):
        common = min(int(shared[index]), int(counts[index - 1]))
        prompts[index][:common] = prompts[index - 1][:common]
    blocks = make_blocks(offsets_of(counts), np.concatenate(prompts))
    previous = previous_positions(blocks.values)
    found, _ = find_parents(blocks, previous)
    tree = fit_tree(blocks, previous, 16)
    assert tree is not None
    assert len(tree.weights) <= MAX_ROWS
    assert np.dot(tree.weights, tree.input_blocks) == pytest.approx(counts.mean(), rel=0.01)
    assert np.dot(tree.weights, tree.shared_blocks) == pytest.approx(found.mean(), rel=0.01)
