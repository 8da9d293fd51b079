import numpy as np

from workloads.profile.lengths.counts import count_lengths, order_statistics, sample_counts
from workloads.profile.lengths.quantiles import tabulate_quantiles


def test_counts_are_the_same_for_short_and_absurd_lengths() -> None:
    short = count_lengths(np.array([3, 0, 3, 7], np.int32))
    absurd = count_lengths(np.array([3, 0, 3, 2_000_000_000], np.int32))
    assert (short.tokens.tolist(), short.requests.tolist()) == ([0, 3, 7], [1, 2, 1])
    assert (absurd.tokens.tolist(), absurd.requests.tolist()) == ([0, 3, 2_000_000_000], [1, 2, 1])


def test_nothing_counts_as_nothing() -> None:
    assert count_lengths(np.array([], np.int32)).total == 0


def test_quantiles_are_those_of_numpy() -> None:
    tokens = np.random.default_rng(1).integers(0, 40, 501).astype(np.int32)
    table = tabulate_quantiles(count_lengths(tokens))
    np.testing.assert_allclose(table.tokens, np.quantile(tokens, table.probabilities), atol=5e-4)


def test_order_statistics_of_one_request() -> None:
    assert order_statistics(count_lengths(np.array([9], np.int32)), [0.0, 0.0]).tolist() == [9.0, 9.0]


def test_a_table_of_quantiles_keeps_lumps() -> None:
    generator = np.random.default_rng(2)
    tokens = np.concatenate([generator.lognormal(5, 1, 5000), np.full(900, 181), np.full(80, 4096)]).astype(np.int32)
    table = tabulate_quantiles(count_lengths(tokens))
    grid = np.arange(0, 5000)
    drawn = np.rint(np.interp((np.arange(200_000) + 0.5) / 200_000, table.probabilities, table.tokens))
    seen = np.searchsorted(np.sort(tokens), grid, side="right") / tokens.size
    made = np.searchsorted(np.sort(drawn), grid, side="right") / drawn.size
    assert np.abs(seen - made).max() < 0.006


def test_a_sample_has_the_asked_size_and_only_lengths_that_occur() -> None:
    counts = count_lengths(np.repeat(np.array([5, 6, 90], np.int32), [1000, 10, 400]))
    sample = sample_counts(counts, 100, generator=np.random.default_rng(0))
    assert sample.total == 100
    assert set(sample.tokens.tolist()) <= {5, 6, 90}
    assert sample_counts(counts, 1410, generator=np.random.default_rng(0)) is counts
