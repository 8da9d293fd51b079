"""The path of a rate that jumps between states, as a curve: each stay exponential, then any other state alike."""

import numpy as np
from numpy.typing import NDArray

from workloads.model import MmppArrivals
from workloads.streams import uniforms
from workloads.synthesis.curves import Clock, Curve, check_steps, mean_over_load, meet_rate

TICKS_PER_S = 1_000_000
FIRST_STAYS = 64
PATHS = 64
NEAR_RATIO = 0.1


def draw_states(model: MmppArrivals, clock: Clock, *, seed: int, scope: str) -> Curve:
    """Draw a path of the model's states as a curve whose mean over the load is 1.

    A short load would often see one burst or none. So paths are drawn until one has within 10 % of the model's mean
    rate over the load, the nearest of 64 is taken, and what is left of the difference is scaled away.

    Raises:
        SynthesisError: all of them are silent all through the load, or it is far longer than a stay.
    """
    nearest = _draw_path(model, clock, seed=seed, scope=scope)
    distance = abs(mean_over_load(nearest, clock) - 1)
    for number in range(1, PATHS):
        if distance <= NEAR_RATIO:
            break
        path = _draw_path(model, clock, seed=seed, scope=f"{scope}path {number}")
        if abs(mean_over_load(path, clock) - 1) < distance:
            nearest, distance = path, abs(mean_over_load(path, clock) - 1)
    return meet_rate(nearest, clock)


def _draw_path(model: MmppArrivals, clock: Clock, *, seed: int, scope: str) -> Curve:
    """Draw one path; its mean over all time is 1. A state's share of the time goes as its mean stay (Ross 2014)."""
    stays_s = np.asarray(model.mean_stay_s)
    shares = stays_s / stays_s.sum()
    rates = np.asarray(model.rates) / float(np.dot(shares, model.rates))
    own_s = clock.total_s * clock.factor
    count = FIRST_STAYS
    while True:
        check_steps(count)
        draws = uniforms(seed, "states", 2 * count, scope=scope).reshape(count, 2)
        states = _visit(shares, draws[:, 0])
        ticks = np.rint(-np.log1p(-draws[:, 1]) * stays_s[states] * TICKS_PER_S).astype(np.int64)
        ends_s = np.cumsum(ticks) / TICKS_PER_S
        if ends_s[-1] >= own_s:
            last = int(np.searchsorted(ends_s, own_s))
            edges = np.concatenate([[0.0], ends_s[:last], [own_s]])
            return Curve(edges / clock.factor, rates[states[: last + 1]])
        count *= 2


def _visit(shares: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Begin in a state by its share of time; then step to another, each alike."""
    num_states = len(shares)
    first = min(int(np.searchsorted(np.cumsum(shares), draws[0], side="right")), num_states - 1)
    steps = 1 + (draws[1:] * (num_states - 1)).astype(np.int64)
    return np.cumsum(np.concatenate([[first], steps])) % num_states
