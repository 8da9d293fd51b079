"""Verdicts on public traces, and traffic drawn from their curves: as uneven as they are."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from workloads.model import PiecewiseArrivals
from workloads.profile.arrivals.counts import count_windows
from workloads.profile.arrivals.describe import describe_arrivals
from workloads.profile.arrivals.model import ArrivalProfile
from workloads.profile.arrivals.spectrum import describe_spectrum
from workloads.profile.arrivals.unevenness import autocorrelation, fano_factor
from workloads.readers import read_trace
from workloads.trace import NS_PER_S, Trace

pytestmark = pytest.mark.traces

FOLDER = Path(os.environ.get("SEATRIAL_TRACES", Path(__file__).parents[3] / "shared" / "traces"))
CODE = "azure2023/AzureLLMInferenceTrace_code.csv"
CONV = "azure2023/AzureLLMInferenceTrace_conv.csv"
MOONCAKE = "mooncake/conversation_trace.jsonl"
BURSTGPT = "burstgpt/BurstGPT_1.first400.csv"
SEEDS = 20


@cache
def trace(name: str) -> Trace:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no {name} under {FOLDER}; set SEATRIAL_TRACES to the folder of the public traces")
    return read_trace(path)


@cache
def profiled(name: str) -> ArrivalProfile:
    return describe_arrivals(trace(name).arrival_ns, trace(name).facts, seed=0)[0]


def evidence(profile: ArrivalProfile) -> dict[str, float]:
    return {one.name: one.value for one in profile.verdict.evidence}


def test_azure_code_is_on_and_off() -> None:
    profile = profiled(CODE)
    assert profile.verdict.kind == "on/off"
    assert profile.count_autocorrelation["1"] == pytest.approx(0.76, abs=0.01)
    assert profile.gap_autocorrelation["1"] == pytest.approx(0, abs=0.01)
    assert profile.max_gap_s == pytest.approx(217, abs=0.5)
    assert evidence(profile)["memory"] < 20


def test_azure_conv_drifts() -> None:
    profile = profiled(CONV)
    assert profile.verdict.kind == "drifting poisson"
    assert evidence(profile)["local variation"] == pytest.approx(1, abs=0.1)
    assert evidence(profile)["memory"] > 100
    assert profile.change_points


def test_mooncake_stands_on_a_grid_that_is_no_period() -> None:
    profile = profiled(MOONCAKE)
    assert profile.verdict.kind == "grid"
    assert profile.curve.kind == "grid"
    assert profile.curve.step_s == 3
    spectrum = describe_spectrum(trace(MOONCAKE).arrival_ns, trace(MOONCAKE).facts)
    assert spectrum is not None
    assert not any(peak.is_named for peak in spectrum.peaks)


def test_four_hundred_rows_of_burstgpt_are_too_few_to_tell() -> None:
    assert profiled(BURSTGPT).verdict.kind == "cannot tell"


@pytest.mark.parametrize("name", [CODE, CONV])
def test_what_is_drawn_from_the_curve_is_as_uneven_as_the_trace(name: str) -> None:
    profile = profiled(name)
    assert isinstance(profile.curve, PiecewiseArrivals)
    ours = figures(trace(name).arrival_ns)
    twins = [draw(profile.curve, len(trace(name)), trace(name).span_ns, seed) for seed in range(SEEDS)]
    near = [np.abs(figures(twin) - ours) <= np.array([0.15, 0.15, 0.15, 0.1]) * [*ours[:3], 1] for twin in twins]
    assert sum(bool(one.all()) for one in near) >= 18


def figures(arrival_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Fano factors at 1, 10 and 60 s, and the autocorrelation of counts at 1 s."""
    counts = count_windows(arrival_ns, NS_PER_S).astype(np.float64)
    fano = [fano_factor(arrival_ns, window_s) for window_s in (1, 10, 60)]
    return np.array([*fano, autocorrelation(counts, 1)], dtype=np.float64)


def draw(curve: PiecewiseArrivals, num_requests: int, span_ns: int, seed: int) -> NDArray[np.int64]:
    """Unit-mean gamma gaps in operational time, through the inverse of the cumulative rate."""
    weights = np.array(curve.weights)
    edges_s = np.arange(weights.size + 1) * curve.bin_s
    expected = np.concatenate([np.zeros(1), np.cumsum(weights)]) * curve.bin_s
    expected *= num_requests / (span_ns / NS_PER_S * weights.mean())
    gaps = np.random.default_rng(seed).gamma(curve.cv**-2, curve.cv**2, 2 * num_requests)
    times = np.cumsum(gaps)
    seconds = np.interp(times[times < expected[-1]], expected, edges_s)
    return ((seconds - seconds[0]) * NS_PER_S).astype(np.int64)
