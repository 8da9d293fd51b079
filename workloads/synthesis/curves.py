"""Rates over time: relative, constant between edges. Whatever varies in a model's rate is brought to this form."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.errors import WorkloadError
from workloads.model import HarmonicArrivals

STEPS_PER_PERIOD = 256
WEIGHT_DIGITS = 9
MAX_STEPS = 50_000_000


class SynthesisError(WorkloadError):
    """No traffic can be made: which figures are at odds and what to change."""


class Curve(NamedTuple):
    """Relative rates `weights[i]` from `edges_s[i]` to `edges_s[i + 1]`; the first edge is 0."""

    edges_s: NDArray[np.float64]
    weights: NDArray[np.float64]


class Clock(NamedTuple):
    """The time that traffic is made for, and how fast a model's own time runs in it.

    Traffic fills [-lead_s, duration_s); own time is `factor` times the load's, and is 0 where the load begins.
    """

    duration_s: float
    factor: float = 1.0
    lead_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Return the whole time, seconds of the load."""
        return self.lead_s + self.duration_s


def flat_curve(clock: Clock) -> Curve:
    """Return the curve of one rate."""
    return Curve(np.array([0.0, clock.total_s]), np.ones(1))


def repeat_curve(bin_s: float, weights: tuple[float, ...], clock: Clock) -> Curve:
    """Lay a curve of equal bins over the clock's time, again and again, so that its mean over the load is 1.

    Raises:
        SynthesisError: the curve is 0 all through the load.
    """
    length_s = bin_s * len(weights)
    start_s = -clock.lead_s * clock.factor % length_s
    end_s = start_s + clock.total_s * clock.factor
    first, last = math.floor(start_s / bin_s), math.ceil(end_s / bin_s)
    check_steps(last - first)
    own_edges = np.clip(np.arange(first, last + 1) * bin_s, start_s, end_s)
    rates = np.asarray(weights)[np.arange(first, last) % len(weights)]
    return meet_rate(Curve((own_edges - start_s) / clock.factor, rates), clock)


def harmonic_curve(model: HarmonicArrivals, clock: Clock) -> Curve:
    """Sample 1 plus waves, never below 0, at 256 places of the shortest period, so that its mean over the load is 1."""
    step_s = min(wave.period_s for wave in model.waves) / STEPS_PER_PERIOD
    start_s = -clock.lead_s * clock.factor
    count = max(1, math.ceil(clock.total_s * clock.factor / step_s))
    check_steps(count)
    edges = np.minimum(np.arange(count + 1) * step_s, clock.total_s * clock.factor)
    middles = start_s + (np.arange(count) + 0.5) * step_s
    rates = np.ones(count)
    for wave in model.waves:
        rates += wave.amplitude * np.cos(2 * np.pi * (middles - wave.crest_s) / wave.period_s)
    return meet_rate(Curve(edges / clock.factor, np.maximum(np.round(rates, WEIGHT_DIGITS), 0.0)), clock)


def invert_curve(curve: Curve, requests: NDArray[np.float64], rate_rps: float) -> NDArray[np.float64]:
    """Return the times, seconds from the curve's beginning, at which so many requests are expected to have come.

    The inverse of the cumulative rate (Cinlar 1975, section 4.7): unit gaps in its own time become arrivals at
    the curve's rate. Numbers of requests beyond the curve's end are left out; they must ascend.
    """
    expected = np.concatenate([[0.0], np.cumsum(rate_rps * curve.weights * np.diff(curve.edges_s))])
    reached = requests[: np.searchsorted(requests, expected[-1])]
    place = np.searchsorted(expected[1:], reached)
    rate = rate_rps * curve.weights[place]
    times: NDArray[np.float64] = reached - expected[place]
    np.divide(times, rate, out=times, where=rate > 0)
    times += curve.edges_s[place]
    return times


def check_steps(count: int) -> None:
    """Refuse a curve of more steps than memory should hold.

    Raises:
        SynthesisError: there are more than 50 million.
    """
    if count > MAX_STEPS:
        raise SynthesisError(
            f"expected at most {MAX_STEPS} steps of the rate in one load, seen {count}: the model's own time runs too "
            "fast for it; use rate_method: thin, a lower rate, or a shorter load"
        )


def mean_over_load(curve: Curve, clock: Clock) -> float:
    """Return the mean weight of a curve over the load, its lead left out."""
    lengths_s = np.diff(np.maximum(curve.edges_s, clock.lead_s))
    return float(np.sum(curve.weights * lengths_s)) / clock.duration_s


def meet_rate(curve: Curve, clock: Clock) -> Curve:
    """Scale a curve so that its mean over the load is 1.

    Raises:
        SynthesisError: the curve is 0 all through the load.
    """
    mean = mean_over_load(curve, clock)
    if mean <= 0:
        raise SynthesisError(
            f"the traffic's rate is 0 all through the first {clock.duration_s * clock.factor:g} s of its own time; "
            "lengthen the load, or compress time more"
        )
    return Curve(curve.edges_s, curve.weights / mean)
