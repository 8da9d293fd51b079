import time

import numpy as np
import pytest
from numpy.typing import NDArray

from workloads.blocks import BlockIds
from workloads.model import PrefixTree
from workloads.profile.reuse.hits import previous_positions
from workloads.profile.reuse.table import find_parents, fit_tree
from workloads.synthesis.prefixes import draw_prefixes

BLOCK_TOKENS = 16


def lengths(count: int, seed: int = 0) -> NDArray[np.int32]:
    return np.random.default_rng(seed).integers(1, 900, count).astype(np.int32)


def tree(**columns: object) -> PrefixTree:
    plain: dict[str, object] = {
        "block_tokens": BLOCK_TOKENS,
        "weights": (0.3, 0.3, 0.4),
        "distances": (0, 1, 25),
        "shared_blocks": (0, 4, 20),
        "input_blocks": (30, 30, 30),
        "parent_blocks": (0, 30, 22),
    }
    return PrefixTree.model_validate({**plain, **columns})


def reuse(blocks: BlockIds) -> float:
    return float(np.mean(previous_positions(blocks.values) >= 0))


def test_each_request_has_its_blocks() -> None:
    inputs = lengths(500)
    blocks = draw_prefixes(tree(), inputs, seed=1)
    assert blocks.counts.tolist() == [-(-int(one) // BLOCK_TOKENS) for one in inputs]


def test_ids_are_chained() -> None:
    blocks = draw_prefixes(tree(), lengths(500), seed=1)
    before = np.where(blocks.positions() > 0, np.roll(blocks.values, 1), -1)
    parents: dict[int, int] = {}
    for one, earlier in zip(blocks.values.tolist(), before.tolist(), strict=True):
        assert parents.setdefault(one, earlier) == earlier


def test_equal_seeds_give_equal_blocks_and_other_seeds_others() -> None:
    first, again, other = (draw_prefixes(tree(), lengths(300), seed=seed).values for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_longer_draw_begins_with_the_shorter_one() -> None:
    inputs = lengths(600)
    inputs[:200] //= 4
    short, long = draw_prefixes(tree(), inputs[:200], seed=2), draw_prefixes(tree(), inputs, seed=2)
    np.testing.assert_array_equal(short.values, long.values[: short.values.size])


def test_requests_share_as_much_and_as_far_back_as_the_table_says() -> None:
    inputs = np.full(5000, 30 * BLOCK_TOKENS, dtype=np.int32)
    blocks = draw_prefixes(tree(), inputs, seed=3)
    shared, distances = find_parents(blocks, previous_positions(blocks.values))
    assert np.mean(shared == 0) == pytest.approx(0.3, abs=0.02)
    assert np.mean(shared >= 20) == pytest.approx(0.4, abs=0.02)
    assert np.median(distances[shared >= 20]) == pytest.approx(25, abs=3)


def test_a_measured_table_gives_its_reuse_back() -> None:
    inputs = lengths(4000)
    first = draw_prefixes(tree(input_blocks=(10, 20, 45)), inputs, seed=6)
    measured = fit_tree(first, previous_positions(first.values), BLOCK_TOKENS)
    assert measured is not None
    second = draw_prefixes(measured, lengths(4000, seed=9), seed=7)
    assert reuse(second) == pytest.approx(reuse(first), abs=0.02)


def test_the_share_knob_takes_that_part_of_the_sharing() -> None:
    inputs = np.full(4000, 30 * BLOCK_TOKENS, dtype=np.int32)
    whole = find_sharers(draw_prefixes(tree(), inputs, seed=3))
    half = find_sharers(draw_prefixes(tree(), inputs, seed=3, share_factor=0.5))
    assert half.mean() == pytest.approx(whole.mean() / 2, abs=0.03)
    assert not np.any(half & ~whole)
    assert reuse(draw_prefixes(tree(), inputs, seed=3, share_factor=0)) == 0


def find_sharers(blocks: BlockIds) -> NDArray[np.bool_]:
    return find_parents(blocks, previous_positions(blocks.values))[0] > 0


@pytest.mark.parametrize("factor", [-0.1, 1.1, float("nan")])
def test_a_share_factor_outside_its_range_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        draw_prefixes(tree(), lengths(3), seed=0, share_factor=factor)


def test_no_requests_and_empty_prompts_have_no_blocks() -> None:
    assert len(draw_prefixes(tree(), lengths(0), seed=0)) == 0
    assert draw_prefixes(tree(), np.zeros(5, dtype=np.int32), seed=0).values.size == 0


def test_prompts_unlike_any_of_the_table_get_blocks_all_the_same() -> None:
    inputs = np.array([1, 100_000, 3, 90_000] * 50, dtype=np.int32)
    blocks = draw_prefixes(tree(), inputs, seed=0)
    assert blocks.values.size == int((-(-inputs.astype(np.int64) // BLOCK_TOKENS)).sum())


def test_a_table_without_parents_lengths_still_gives_its_reuse() -> None:
    inputs = np.full(3000, 30 * BLOCK_TOKENS, dtype=np.int32)
    expected = (0.3 * 4 + 0.4 * 20) / 30
    assert reuse(draw_prefixes(tree(parent_blocks=None), inputs, seed=1)) == pytest.approx(expected, abs=0.02)


def test_twenty_thousand_requests_take_less_than_two_seconds() -> None:
    started = time.process_time()
    draw_prefixes(tree(), lengths(20_000), seed=0)
    assert time.process_time() - started < 2
