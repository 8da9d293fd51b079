import numpy as np
import pytest
from scipy import stats

from workloads.model import Dependence, FamilyLengths, PoissonArrivals, QuantileLengths, TrafficModel
from workloads.synthesis.lengths import draw_lengths, mean_of

INPUTS = QuantileLengths(probabilities=(0, 0.5, 0.97, 1), tokens=(7, 1500, 7436, 7437))
OUTPUTS = FamilyLengths(family="lognormal", parameters={"mu": 2.6, "sigma": 1.2}, min=0, max=1899)


def model(rank_correlation: float = 0.0) -> TrafficModel:
    return TrafficModel(
        arrivals=PoissonArrivals(),
        input_tokens=INPUTS,
        output_tokens=OUTPUTS,
        dependence=Dependence(rank_correlation=rank_correlation),
    )


@pytest.mark.parametrize("rank_correlation", [-1.0, -0.4, 0.0, 0.3, 0.8, 1.0])
def test_rank_correlation_is_the_asked_one(rank_correlation: float) -> None:
    inputs, outputs = draw_lengths(model(rank_correlation), 9000, seed=3)
    assert stats.spearmanr(inputs, outputs).statistic == pytest.approx(rank_correlation, abs=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_a_few_thousand_requests_have_the_quantiles(seed: int) -> None:
    inputs, outputs = draw_lengths(model(0.3), 3500, seed=seed)
    assert np.quantile(inputs, [0.5, 0.97]) == pytest.approx([1500, 7436], rel=0.04)
    assert np.quantile(outputs, 0.5) == pytest.approx(np.exp(2.6), rel=0.05)
    assert np.quantile(outputs, 0.99) == pytest.approx(np.exp(2.6 + 1.2 * 2.326), rel=0.05)


def test_whole_thousands_hold_each_stratum_once() -> None:
    inputs, _ = draw_lengths(model(0.5), 2000, seed=1)
    places = np.interp(inputs, INPUTS.tokens, INPUTS.probabilities)
    for block in (places[:1000], places[1000:]):
        inside = np.sort(block)[:900]
        assert np.all(np.abs(inside - (np.arange(900) + 0.5) / 1000) < 0.0009)


def test_a_longer_draw_begins_with_the_shorter_one() -> None:
    short, long = (draw_lengths(model(0.4), count, seed=8) for count in (1234, 5678))
    for one, other in zip(short, long, strict=True):
        assert other[:1234].tolist() == one.tolist()


def test_drawing_in_pieces_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw_lengths(model(0.4), 5500, seed=8)
    monkeypatch.setattr("workloads.synthesis.lengths.PIECE", 2000)
    for one, other in zip(whole, draw_lengths(model(0.4), 5500, seed=8), strict=True):
        assert one.tolist() == other.tolist()


def test_dependence_changes_outputs_alone() -> None:
    free, bound = draw_lengths(model(0.0), 2000, seed=2), draw_lengths(model(0.6), 2000, seed=2)
    assert free[0].tolist() == bound[0].tolist()
    assert free[1].tolist() != bound[1].tolist()
    assert sorted(free[1][:1000])[:995] == pytest.approx(sorted(bound[1][:1000])[:995], abs=2, rel=0.1)


def test_lengths_are_32_bit_and_prompts_hold_a_token() -> None:
    empty = QuantileLengths(probabilities=(0, 1), tokens=(0, 0))
    nothing = model().model_copy(update={"input_tokens": empty, "output_tokens": empty})
    inputs, outputs = draw_lengths(nothing, 10, seed=0)
    assert (inputs.dtype, outputs.dtype) == (np.int32, np.int32)
    assert inputs.tolist() == [1] * 10
    assert outputs.tolist() == [0] * 10


def test_a_mean_is_the_distributions_own() -> None:
    assert mean_of(QuantileLengths(probabilities=(0, 1), tokens=(0, 10))) == pytest.approx(5, abs=0.01)
