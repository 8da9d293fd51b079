import numpy as np
import pytest

from workloads.profile.lengths.counts import Counts, count_lengths
from workloads.profile.lengths.piles import find_cap, find_lumps


def lengths(seed: int, size: int = 5000) -> np.ndarray:
    return np.rint(np.random.default_rng(seed).lognormal(5.5, 1.0, size)).astype(np.int32)


def counts_of(*parts: object) -> Counts:
    return count_lengths(np.concatenate([np.atleast_1d(part) for part in parts]).astype(np.int32))


@pytest.mark.parametrize("seed", range(20))
def test_smooth_lengths_have_no_cap(seed: int) -> None:
    assert find_cap(counts_of(lengths(seed))) is None


def test_lengths_cut_at_a_limit_have_a_cap_there() -> None:
    cap = find_cap(counts_of(np.minimum(lengths(1), 1000)))
    assert cap is not None
    assert (cap.low, cap.high) == (1000, 1000)
    assert cap.num_requests == np.count_nonzero(lengths(1) >= 1000)


def test_a_cap_may_be_a_few_lengths_wide() -> None:
    made = lengths(2)
    cut = np.where(made > 2000, 1999 + made % 3, made)
    cap = find_cap(counts_of(cut))
    assert cap is not None
    assert (cap.low, cap.high) == (1999, 2001)


def test_a_cap_may_have_a_whisker_beyond() -> None:
    cap = find_cap(counts_of(np.minimum(lengths(3), 500), [900, 1500]))
    assert cap is not None
    assert cap.low == 500


def test_a_pile_with_much_beyond_is_a_lump() -> None:
    counts = counts_of(lengths(4), np.full(300, 1200))
    assert find_cap(counts) is None
    assert [(lump.low, lump.high) for lump in find_lumps(counts)] == [(1200, 1200)]


@pytest.mark.parametrize(
    "tokens",
    [
        [7],
        [128] * 500,
        np.arange(1, 1001),
        np.repeat(np.arange(100, 3000, 100), 40),
        np.repeat([1, 2, 3, 4, 5], [500, 250, 120, 60, 30]),
    ],
    ids=["one request", "all equal", "uniform", "multiples of 100", "few short ones"],
)
def test_no_cap_is_seen_where_there_is_none(tokens: object) -> None:
    assert find_cap(counts_of(tokens)) is None
