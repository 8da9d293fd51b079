"""The search for the highest rate at which the client is honest: up by doubling, then in between. Measures nothing."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.domain.calibration import Limit
from orchestrator.replay.calibration.probe import Probe

FIRST_RPS = 1000.0
LOWEST_RPS = 30.0
HIGHEST_RPS = 64_000.0  # beyond what one process of any client in Python reaches
STEPS = 3  # halvings of the octave in which the limit lies: 9 % of the rate


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest honest probe, None where there was none, and who set the limit."""

    best: Probe | None
    limited_by: Limit


def find_ceiling(
    look: Callable[[float], Probe], *, has_time: Callable[[], bool], highest_rps: float = HIGHEST_RPS
) -> Ceiling:
    """Search from 1,000 requests/s by doubling (by halving where that is too much), then by geometric bisection.

    A look that was not honest is taken once more before it counts: other work on the machine comes in bursts, a limit
    stays. Ends where `has_time` says no more, at the resolution, or at `highest_rps`.
    """
    best, failed = _bracket(look, has_time=has_time, highest_rps=highest_rps)
    if best is None or failed is None:
        return Ceiling(best, "search" if failed is None else _limit(failed))
    for _ in range(STEPS):
        if not has_time():
            break
        seen = _look_twice(look, math.sqrt(best.rate_rps * failed.rate_rps), has_time=has_time)
        best, failed = (seen, failed) if seen.verdict == "honest" else (best, seen)
    return Ceiling(best, _limit(failed))


def _bracket(
    look: Callable[[float], Probe], *, has_time: Callable[[], bool], highest_rps: float
) -> tuple[Probe | None, Probe | None]:
    """Return the highest honest look and the lowest other one, an octave apart where both are there."""
    best: Probe | None = None
    failed: Probe | None = None
    rate_rps = min(FIRST_RPS, highest_rps)
    while LOWEST_RPS <= rate_rps <= highest_rps and (has_time() or best is None):
        seen = _look_twice(look, rate_rps, has_time=has_time)
        if seen.verdict == "honest":
            best = seen
            rate_rps *= 2
        else:
            failed = seen
            rate_rps /= 2
        if best is not None and failed is not None:
            break
    return best, failed


def _look_twice(look: Callable[[float], Probe], rate_rps: float, *, has_time: Callable[[], bool]) -> Probe:
    first = look(rate_rps)
    if first.verdict == "honest" or not has_time():
        return first
    second = look(rate_rps)
    return second if second.verdict != "null_server" else first


def _limit(failed: Probe) -> Limit:
    return "client" if failed.verdict == "client" else "null_server"
