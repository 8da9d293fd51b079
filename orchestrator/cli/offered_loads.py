"""The loads that a person typed: rates, users, a ramp. Sends nothing.

The option's name stands in every message, since that is what can be changed.
"""

from dataclasses import dataclass

from orchestrator.domain.errors import InputError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from workloads.model import PiecewiseArrivals

LINEAR_STEPS = 200
MIN_STEPS = 2


@dataclass(frozen=True, slots=True)
class Ramp:
    """A rate that goes from one value to another over the window, in so many equal steps."""

    first_rps: float
    last_rps: float
    steps: int

    @property
    def mean_rps(self) -> float:
        """Return the mean rate over the whole ramp."""
        return (self.first_rps + self.last_rps) / 2

    def arrivals(self, duration_s: float, cv: float) -> PiecewiseArrivals:
        """Return arrivals whose rate follows the ramp: a line by the middles of its steps, a stair by its levels."""
        rise, is_stair = self.last_rps - self.first_rps, self.steps < LINEAR_STEPS
        shares = [i / (self.steps - 1) if is_stair else (i + 0.5) / self.steps for i in range(self.steps)]
        weights = tuple(self.first_rps + rise * share for share in shares)
        return PiecewiseArrivals(bin_s=duration_s / self.steps, weights=weights, cv=cv)


def parse_ramp(text: str | None) -> Ramp | None:
    """Read `FIRST:LAST` (linear) or `FIRST:LAST:STEPS` (a stair), in requests/s.

    Raises:
        InputError: it is neither.
    """
    if text is None:
        return None
    parts = text.split(":")
    try:
        first, last = float(parts[0]), float(parts[1])
        steps = int(parts[2]) if parts[2:] else LINEAR_STEPS
    except (IndexError, ValueError):
        first, last, steps = -1.0, -1.0, 0
    if (
        min(first, last) < 0
        or not 0 < first + last < float("inf")
        or not MIN_STEPS <= steps <= LINEAR_STEPS
        or parts[3:]
    ):
        raise InputError(
            f"--ramp {text}: expected FIRST:LAST or FIRST:LAST:STEPS in requests/s, with 2 to {LINEAR_STEPS} steps, "
            "such as 1:20 or 1:20:5"
        )
    return Ramp(first, last, steps)


def parse_numbers(text: str | None, option: str) -> tuple[float, ...]:
    """Read numbers above 0 that commas part; none where the option was left out.

    Raises:
        InputError: one is no such number.
    """
    if text is None:
        return ()
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 < one < float("inf") for one in numbers):
        raise InputError(f"{option} {text}: expected numbers above 0, parted by commas, such as 1,2,4")
    return numbers


def parse_cores(text: str | None) -> tuple[int, ...] | None:
    """Read numbers of cores that commas part.

    Raises:
        InputError: one is no such number.
    """
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise InputError(f"--cpus {text}: expected numbers of cores, parted by commas, such as 0,1")
    return tuple(int(part) for part in parts)


def loads_of(rates: str | None, users: str | None, ramp: Ramp | None) -> tuple[OfferedLoad, ...]:
    """List the loads in the order typed; none where a trace's own rate is meant.

    Raises:
        InputError: two kinds of load are asked for, or a number is of no use.
    """
    if sum(one is not None for one in (rates, users, ramp)) > 1:
        raise InputError(
            "choose one of --rate (open loop), --users (closed loop) and --ramp (a rising or falling rate)"
        )
    if ramp is not None:
        return (OpenLoad(rate_rps=ramp.mean_rps),)
    counts = parse_numbers(users, "--users")
    if any(one != int(one) for one in counts):
        raise InputError(f"--users {users}: expected whole numbers")
    closed = tuple(ClosedLoad(users=int(one)) for one in counts)
    return closed or tuple(OpenLoad(rate_rps=one) for one in parse_numbers(rates, "--rate"))
