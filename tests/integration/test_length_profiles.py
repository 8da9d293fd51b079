"""What is known of the lengths of four public traces, wherever those files are at hand."""

import functools
import os
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from scipy import stats

from workloads.profile.lengths.dependence import describe_dependence
from workloads.profile.lengths.describe import describe_lengths
from workloads.profile.lengths.model import LengthDistribution
from workloads.readers import read_trace

pytestmark = pytest.mark.traces

FOLDER = Path(os.environ.get("SEATRIAL_TRACES", Path(__file__).parents[3] / "shared" / "traces"))
CODE = "azure2023/AzureLLMInferenceTrace_code.csv"
CONV = "azure2023/AzureLLMInferenceTrace_conv.csv"
MOONCAKE = "mooncake/conversation_trace.jsonl"
BURSTGPT = "burstgpt/BurstGPT_1.first400.csv"
TRACES = (CODE, CONV, MOONCAKE, BURSTGPT)
Side = Literal["input_tokens", "output_tokens"]
SIDES: tuple[Side, ...] = ("input_tokens", "output_tokens")


@functools.cache
def lengths(name: str, side: Side) -> np.ndarray:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no {name} under {FOLDER}; set SEATRIAL_TRACES to the folder of the public traces")
    return np.asarray(getattr(read_trace(path).answered(), side))


@functools.cache
def described(name: str, side: Side) -> LengthDistribution:
    found = describe_lengths(lengths(name, side), seed=0, num_bootstraps=0)
    assert found is not None
    return found


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("side", SIDES)
def test_draws_from_the_table_are_the_trace_s_lengths(name: str, side: Side) -> None:
    seen, table = lengths(name, side), described(name, side).quantiles
    shares = (np.arange(500_000) + 0.5) / 500_000
    drawn = np.rint(np.interp(shares, table.probabilities, table.tokens))
    for percent in (50, 99):
        assert np.percentile(drawn, percent) == pytest.approx(np.percentile(seen, percent), rel=0.01)
    assert drawn.mean() == pytest.approx(seen.mean(), rel=0.01)
    assert stats.ks_2samp(seen, drawn).statistic < 0.01


@pytest.mark.parametrize(
    ("name", "side", "at", "num_requests"),
    [(CODE, "input_tokens", 7435, 322), (CONV, "output_tokens", 1000, 11), (MOONCAKE, "output_tokens", 2000, 30)],
)
def test_caps_are_the_known_ones(name: str, side: Side, at: int, num_requests: int) -> None:
    (cap,) = described(name, side).caps
    assert (cap.tokens, cap.num_requests) == (at, num_requests)
    assert cap.share == num_requests / lengths(name, side).size


@pytest.mark.parametrize(
    ("name", "side"),
    [
        (CODE, "output_tokens"),
        (CONV, "input_tokens"),
        (MOONCAKE, "input_tokens"),
        (BURSTGPT, "input_tokens"),
        (BURSTGPT, "output_tokens"),
    ],
)
def test_nothing_else_is_taken_for_a_cap(name: str, side: Side) -> None:
    assert described(name, side).caps == ()


def test_the_pile_of_conv_inputs_near_4100_is_a_lump() -> None:
    (note,) = [note for note in described(CONV, "input_tokens").notes if "at 4072 to 4101 tokens" in note]
    assert (
        note
        == "1261 requests (6.51 %) at 4072 to 4101 tokens: a lump and no cap, since 337 are longer; no family has it"
    )


@pytest.mark.parametrize(
    ("side", "nearest", "farthest"), [("input_tokens", 0.13, 0.16), ("output_tokens", 0.155, 0.185)]
)
def test_single_families_fit_conv_badly(side: Side, nearest: float, farthest: float) -> None:
    bodies = {"lognormal", "gamma", "weibull", "exponential"}
    distances = [fit.ks for fit in described(CONV, side).fits if fit.family in bodies]
    assert len(distances) == 4
    assert min(distances) > nearest
    assert max(distances) < farthest
    assert any("draw from the quantiles" in note for note in described(CONV, side).notes)


def test_every_family_is_rejected_for_conv_and_a_note_says_so() -> None:
    found = describe_lengths(lengths(CONV, "output_tokens"), seed=0, num_bootstraps=19)
    assert found is not None
    assert [fit.bootstrap_p for fit in found.fits[:3]] == [1 / 20] * 3
    assert any("is rejected" in note and "the quantiles are the control" in note for note in found.notes)


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("side", SIDES)
def test_no_trace_s_tail_is_called_a_power_law(name: str, side: Side) -> None:
    tail = described(name, side).tail
    assert tail.is_power_law != "yes", tail
    assert tail.reason


def test_the_floor_of_code_outputs_is_named() -> None:
    notes = described(CODE, "output_tokens").notes
    assert "729 requests (8.27 %) at 6 tokens, the shortest: a floor, which families ignore" in notes


@pytest.mark.parametrize("name", TRACES)
def test_rank_correlation_is_scipy_s(name: str) -> None:
    inputs, outputs = lengths(name, "input_tokens"), lengths(name, "output_tokens")
    found = describe_dependence(inputs, outputs)
    assert found is not None
    assert found.rank_correlation == pytest.approx(stats.spearmanr(inputs, outputs).statistic)
    assert found.low < found.rank_correlation < found.high
