import numpy as np
import pytest

from workloads.profile.lengths.describe import describe_lengths
from workloads.profile.lengths.model import LengthDistribution


def described(*parts: object, num_bootstraps: int = 0) -> LengthDistribution:
    tokens = np.concatenate([np.atleast_1d(part) for part in parts]).astype(np.int32)
    found = describe_lengths(tokens, seed=3, num_bootstraps=num_bootstraps)
    assert found is not None
    assert LengthDistribution.model_validate_json(found.model_dump_json()) == found
    return found


def lengths(seed: int, size: int = 2000) -> np.ndarray:
    return np.clip(np.rint(np.random.default_rng(seed).lognormal(5, 1, size)), 1, None)


def test_no_requests_have_no_distribution() -> None:
    assert describe_lengths(np.array([], np.int32), seed=0) is None


@pytest.mark.parametrize("tokens", [[7], [0], [0] * 30, [1] * 30, [128] * 300, [5, 6] * 40], ids=str)
def test_lengths_without_a_shape_have_quantiles_and_no_fit(tokens: list[int]) -> None:
    found = described(tokens)
    assert found.num_requests == len(tokens)
    assert (found.quantiles.tokens[0], found.quantiles.tokens[-1]) == (min(tokens), max(tokens))
    assert (found.fits, found.caps, found.num_fitted) == ((), (), 0)
    assert found.tail.is_power_law == "cannot tell"
    assert any("no family is fitted" in note for note in found.notes)


def test_lengths_of_zero_are_counted_and_not_fitted() -> None:
    found = described(lengths(1), np.zeros(100))
    assert (found.num_requests, found.num_fitted) == (2100, 2000)
    assert found.quantiles.tokens[0] == 0
    assert "100 requests (4.76 %) of length 0: counted in the quantiles, fitted by nothing" in found.notes
    assert found.fits[0].family in {"lognormal", "pareto_lognormal"}


def test_a_cap_is_found_and_fitted_as_one() -> None:
    found = described(np.minimum(lengths(2), 400))
    (cap,) = found.caps
    assert (cap.tokens, cap.num_requests) == (400, np.count_nonzero(lengths(2) >= 400))
    assert cap.share == cap.num_requests / 2000
    fit = next(fit for fit in found.fits if fit.family == "lognormal")
    assert fit.parameters == pytest.approx({"mu": 5, "sigma": 1}, rel=0.08)
    assert any("a cap, fitted as lengths of 400 tokens or more" in note for note in found.notes)


def test_a_lump_is_named_and_is_no_cap() -> None:
    found = described(lengths(3), np.full(200, 181))
    assert found.caps == ()
    assert any("at 181 tokens: a lump and no cap" in note for note in found.notes)


def test_a_long_trace_is_sampled_for_fits_and_says_so() -> None:
    found = described(lengths(4, 60_000))
    assert (found.num_requests, found.num_fitted) == (60_000, 50_000)
    assert "families are fitted to 50000 of 60000 requests, drawn by the seed" in found.notes


def test_fits_come_best_first_and_three_are_tested() -> None:
    found = described(lengths(5), num_bootstraps=3)
    criteria = [fit.aic for fit in found.fits]
    assert criteria == sorted(criteria)
    assert [fit.bootstrap_p is not None for fit in found.fits] == [True] * 3 + [False] * 4


def test_the_same_seed_gives_the_same_distribution() -> None:
    tokens = lengths(6, 300).astype(np.int32)
    assert describe_lengths(tokens, seed=1, num_bootstraps=2) == describe_lengths(tokens, seed=1, num_bootstraps=2)


def test_negative_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="expected lengths of 0 tokens or more, seen -2"):
        describe_lengths(np.array([4, -2], np.int32), seed=0)
