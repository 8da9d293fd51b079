"""The highest honest rate of a client: rates rise until one is dishonest twice. Pure; runs nothing itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

FINE, FINE_STEPS = 2**0.25, 3
LOWEST_RPS, HIGHEST_RPS = 12.5, 25_600.0


@dataclass(frozen=True, slots=True)
class Rung:
    """One run at one rate: figures None where there are none.

    `dishonest` says why the client is not to be believed there, `spoiled` why nothing can be said of it; an honest run
    has neither.
    """

    rate_rps: float
    achieved_rps: float | None
    ttft_p99_s: float | None
    true_ttft_p99_s: float | None
    dishonest: str | None = None
    spoiled: str | None = None

    @property
    def is_honest(self) -> bool:
        """Say whether the client is to be believed at this rate."""
        return self.dishonest is None and self.spoiled is None

    @property
    def objection(self) -> str:
        """Return what there is against the run, empty where nothing is."""
        return self.dishonest or self.spoiled or ""


@dataclass(frozen=True, slots=True)
class Climb:
    """A whole search; `honest_rps` is None where the client was honest at no rate of the ladder."""

    honest_rps: float | None
    rungs: tuple[Rung, ...]
    ended_by: str


def climb(run: Callable[[float], Rung], first_rps: float) -> Climb:
    """Double the rate while the client is honest, then rise by a fourth root of two from the last honest rate.

    A dishonest rate is tried once more and ends its pass only when it is dishonest again. Where the first rate is, the
    search goes down by halves until one is honest. A rate at which nothing can be said ends its pass at once.
    """
    rungs: list[Rung] = []

    def is_honest(rate_rps: float) -> bool:
        for _ in range(2):
            rungs.append(run(rate_rps))
            if rungs[-1].is_honest or rungs[-1].spoiled:
                break
        return rungs[-1].is_honest

    honest = _first_honest(is_honest, first_rps, lambda: rungs[-1].spoiled is not None)
    if honest is None:
        return Climb(None, tuple(rungs), rungs[-1].objection)
    for rate_rps in _doublings(honest) if honest == first_rps else ():
        if not is_honest(rate_rps):
            break
        honest = rate_rps
    for _ in range(FINE_STEPS):
        if honest * FINE > HIGHEST_RPS or not is_honest(honest * FINE):
            break
        honest *= FINE
    return Climb(honest, tuple(rungs), rungs[-1].objection or "the ladder's finest step")


def _first_honest(is_honest: Callable[[float], bool], first_rps: float, is_spoiled: Callable[[], bool]) -> float | None:
    rate_rps = first_rps
    while rate_rps >= LOWEST_RPS:
        if is_honest(rate_rps):
            return rate_rps
        if is_spoiled():
            break
        rate_rps /= 2
    return None


def _doublings(rate_rps: float) -> Iterator[float]:
    while rate_rps * 2 <= HIGHEST_RPS:
        rate_rps *= 2
        yield rate_rps
