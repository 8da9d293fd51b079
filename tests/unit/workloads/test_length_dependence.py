import numpy as np
import pytest
from scipy import stats

from workloads.profile.lengths import dependence
from workloads.profile.lengths.dependence import describe_dependence


def correlated(seed: int, size: int, mean_tokens: float) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    normal = generator.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size)
    return tuple(np.ceil(mean_tokens * np.exp(normal.T / 2)).astype(np.int32))  # type: ignore[return-value]


def test_the_correlation_is_spearmans_with_ties() -> None:
    inputs, outputs = correlated(1, 500, 3)
    found = describe_dependence(inputs, outputs)
    assert found is not None
    assert found.rank_correlation == pytest.approx(stats.spearmanr(inputs, outputs).statistic)
    assert found.low < found.rank_correlation < found.high
    assert found.num_requests == 500


@pytest.mark.parametrize(("size", "mean_tokens"), [(12, 500), (60, 2), (300, 0.9)])
def test_the_interval_covers_the_true_correlation(size: int, mean_tokens: float) -> None:
    truth = stats.spearmanr(*correlated(0, 300_000, mean_tokens)).statistic
    intervals = [describe_dependence(*correlated(seed, size, mean_tokens)) for seed in range(1, 301)]
    covered = np.mean([one is not None and one.low <= truth <= one.high for one in intervals])
    assert 0.92 <= covered <= 0.99


def test_pieces_and_spaced_requests_change_nothing_of_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, outputs = correlated(2, 20_000, 20)
    whole = describe_dependence(inputs, outputs)
    monkeypatch.setattr(dependence, "CHUNK", 1000)
    monkeypatch.setattr(dependence, "MAX_FOR_ERROR", 5000)
    pieces = describe_dependence(inputs, outputs)
    assert whole is not None
    assert pieces is not None
    assert pieces.rank_correlation == pytest.approx(whole.rank_correlation)
    assert pieces.high - pieces.low == pytest.approx(whole.high - whole.low, rel=0.1)


def test_one_absurd_length_is_ranked_like_any_other() -> None:
    inputs, outputs = correlated(3, 200, 50)
    longest = np.where(inputs == inputs.max(), 2_000_000_000, inputs).astype(np.int32)
    assert describe_dependence(longest, outputs) == describe_dependence(inputs, outputs)


def test_lengths_that_order_requests_alike_correlate_fully() -> None:
    rising = np.arange(20, dtype=np.int32)
    found = describe_dependence(rising, rising * 3)
    assert found is not None
    assert (found.rank_correlation, found.low, found.high) == (pytest.approx(1), pytest.approx(1), pytest.approx(1))


@pytest.mark.parametrize("outputs", [np.arange(9), np.full(9, 4)])
def test_under_ten_requests_tell_nothing(outputs: np.ndarray) -> None:
    assert describe_dependence(np.arange(9, dtype=np.int32), outputs.astype(np.int32)) is None


def test_a_constant_length_tells_nothing() -> None:
    assert describe_dependence(np.arange(50, dtype=np.int32), np.full(50, 128, np.int32)) is None


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="expected an output for each of 10 inputs, seen 9"):
        describe_dependence(np.arange(10, dtype=np.int32), np.arange(9, dtype=np.int32))
