"""Arrival times made from an arrival model: int64 nanoseconds, ascending, the same on every machine.

Gaps are whole millionths of a mean gap before they are summed, so that a last-bit difference between machines'
logarithms cannot show.
"""

import math

import numpy as np
from numpy.typing import NDArray

from workloads.model import (
    ArrivalModel,
    ComposedArrivals,
    GridArrivals,
    HarmonicArrivals,
    MmppArrivals,
    PiecewiseArrivals,
    PoissonArrivals,
    RenewalArrivals,
)
from workloads.streams import uniforms
from workloads.synthesis.curves import (
    Clock,
    Curve,
    SynthesisError,
    flat_curve,
    harmonic_curve,
    invert_curve,
    repeat_curve,
)
from workloads.synthesis.gaps import GapFamily, unit_gaps
from workloads.synthesis.states import draw_states

NS_PER_S = 1_000_000_000
PARTS_PER_GAP = 1_000_000
SIGMAS = 6
SPARE = 16
MOST_SPARE_CV = 5.0


def draw_arrivals(
    model: ArrivalModel, clock: Clock, *, rate_rps: float, seed: int, scope: str = ""
) -> NDArray[np.int64]:
    """Draw arrivals in [-lead_s, duration_s) of the clock, int64 nanoseconds, ascending.

    Gaps are the same unit-mean draws at every rate. A rate that varies is scaled to the asked one over the very time
    of the load: its first minute may be three times slower, and a rate would be named that was never offered.

    Raises:
        SynthesisError: the model's rate is 0 all through the load.
    """
    if isinstance(model, ComposedArrivals):
        return _of_clients(model, None, clock, rate_rps=rate_rps, seed=seed, scope=scope)
    curve = _curve(model, clock, seed=seed, scope=scope)
    family, cv = _gaps(model)
    return _on_curve(curve, family, cv, clock, rate_rps=rate_rps, seed=seed, scope=scope)


def draw_clients(
    model: ArrivalModel, kept: tuple[int, ...], clock: Clock, *, rate_rps: float, seed: int, scope: str = ""
) -> NDArray[np.int64]:
    """Draw arrivals of some clients of a composed model, by their places in it, at `rate_rps` together.

    Each client has a stream of its own: at the rate that they have of the whole, these arrive as they did in it.

    Raises:
        SynthesisError: the model has no clients, or not one of these.
    """
    if not isinstance(model, ComposedArrivals):
        raise SynthesisError(f"expected arrivals of kind clients to choose among, seen {model.kind}; leave clients out")
    unknown = sorted(set(kept) - set(range(len(model.clients))))
    if unknown:
        raise SynthesisError(f"expected places of clients from 0 to {len(model.clients) - 1}, seen {unknown}")
    return _of_clients(model, kept, clock, rate_rps=rate_rps, seed=seed, scope=scope)


def _curve(model: ArrivalModel, clock: Clock, *, seed: int, scope: str) -> Curve:
    match model:
        case PiecewiseArrivals():
            return repeat_curve(model.bin_s, model.weights, clock)
        case GridArrivals():
            return repeat_curve(model.step_s, model.weights, clock)
        case HarmonicArrivals():
            return harmonic_curve(model, clock)
        case MmppArrivals():
            return draw_states(model, clock, seed=seed, scope=scope)
        case PoissonArrivals() | RenewalArrivals() | ComposedArrivals():
            return flat_curve(clock)


def _gaps(model: ArrivalModel) -> tuple[GapFamily, float]:
    match model:
        case RenewalArrivals(family=family, cv=cv):
            return family, cv
        case PiecewiseArrivals(cv=cv):
            return "gamma", cv
        case _:
            return "gamma", 1.0


def _of_clients(
    model: ComposedArrivals, kept: tuple[int, ...] | None, clock: Clock, *, rate_rps: float, seed: int, scope: str
) -> NDArray[np.int64]:
    places = range(len(model.clients)) if kept is None else sorted(set(kept))
    total = math.fsum(model.clients[place].share for place in places)
    parts = []
    for place in places:
        client = model.clients[place]
        rate = rate_rps * client.share / total
        own = f"{scope}client {place}"
        parts.append(_on_curve(flat_curve(clock), "gamma", client.cv, clock, rate_rps=rate, seed=seed, scope=own))
    return np.sort(np.concatenate(parts), kind="stable")


def _on_curve(
    curve: Curve, family: GapFamily, cv: float, clock: Clock, *, rate_rps: float, seed: int, scope: str
) -> NDArray[np.int64]:
    expected = rate_rps * float(np.sum(curve.weights * np.diff(curve.edges_s)))
    count = math.ceil(expected + SIGMAS * min(max(cv, 1.0), MOST_SPARE_CV) * math.sqrt(expected)) + SPARE
    while True:
        requests = _numbers(family, cv, count, seed=seed, scope=scope)
        if requests[-1] >= expected:
            break
        count *= 2
    times = invert_curve(curve, requests, rate_rps)
    times -= clock.lead_s
    times *= NS_PER_S
    last_ns = round(clock.duration_s * NS_PER_S) - 1
    return np.minimum(np.floor(times, out=times).astype(np.int64), last_ns)


def _numbers(family: GapFamily, cv: float, count: int, *, seed: int, scope: str) -> NDArray[np.float64]:
    """Return how many requests are expected by the time of each arrival; even gaps begin with the load itself."""
    if cv == 0:
        return np.arange(count, dtype=np.float64)
    gaps = unit_gaps(family, cv, uniforms(seed, "arrivals", count, scope=scope))
    gaps *= PARTS_PER_GAP
    return np.asarray(np.cumsum(np.rint(gaps, out=gaps).astype(np.int64)) / PARTS_PER_GAP)
