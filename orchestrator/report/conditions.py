"""Under which conditions one measurement was taken, as short texts: the client, the window, the cache, the ruler.

The one place for these words: terminal, Markdown and HTML spell them alike. What is not known is said to be so.
"""

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.domain.cache import CacheState
from orchestrator.domain.fidelity import Fidelity
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ClientPath
from orchestrator.domain.steadiness import Steadiness
from orchestrator.domain.study_record import load_label
from orchestrator.report.numbers import milliseconds, number, percent, percentile_ms

CONDITION_HEADS = ("offered load", "client", "window", "cache")
FROM_SEND = "from send"
FROM_INTENDED = "from intended arrival"
JUDGED = "The SLO is judged from intended arrival, so that waiting in the client counts."
UNSTABLE = "unstable queue"
NOT_MEASURED = "not measured"
LONGER_WARMUP = 1.2  # the transient was seen once; another run's may last somewhat longer
_HOLDS = {True: "the policy held", False: "the policy did not hold", None: "nothing could be held against it"}
_BY = {"reset": "emptied before", "salt": "prompts of this load alone", "prefix": "a common text sent before"}


class Notes(NamedTuple):
    """The conditions of one measurement, in the order of CONDITION_HEADS after the load."""

    client: str
    window: str
    cache: str


def notes(one: Measurement) -> Notes:
    """Spell the conditions of one measurement."""
    return Notes(client_text(one.fidelity), window_text(one), cache_text(one.cache))


def is_unstable(one: Measurement) -> bool:
    """Say whether the load outgrew the server, so that its percentiles are those of a growing queue."""
    return one.steadiness is not None and one.steadiness.oversaturated_at_s is not None


def stable_label(one: Measurement) -> str:
    """Name the load, with a warning where its queue was unstable."""
    return f"{load_label(one)} ({UNSTABLE})" if is_unstable(one) else load_label(one)


def given_up_text(one: Measurement) -> str | None:
    """Say when and why a load was given up; None where it was not."""
    steadiness = one.steadiness
    if steadiness is None or steadiness.given_up is None:
        return None
    return (
        f"load given up after {number(one.window_s)} s of its window: {steadiness.given_up}; percentiles are those of "
        f"an {UNSTABLE}, goodput and attainment count what was no longer offered as missed"
    )


def client_text(fidelity: Fidelity) -> str:
    """Spell the verdict on the client, its reasons and what it rests on."""
    reasons = f": {'; '.join(fidelity.reasons)}" if fidelity.reasons else ""
    facts = (f"dispatch lag P50 {_ms(fidelity.dispatch_lag_s.p50)}", f"P99 {_p99(fidelity)}", *_workers(fidelity))
    return f"{fidelity.verdict.value}{reasons} ({', '.join(facts)})"


def window_text(one: Measurement) -> str:
    """Spell the phases, whether the window was steady and what its drain held."""
    phases = f"warm-up {one.warmup_s:g} s, window {one.window_s:.4g} s, drain {one.drain_s:.3g} s"
    return "; ".join((*_steadiness(one), phases, f"{one.num_drained} of {one.num_issued} requests ended in the drain"))


def cache_text(cache: CacheState) -> str:
    """Spell the cache policy, what it led to and whether it held."""
    return "; ".join(_cache(cache))


def calibration_text(one: Measurement) -> str:
    """Spell what the client was shown to be able to do."""
    return NOT_MEASURED if one.calibration is None else str(one.calibration)


def _p99(fidelity: Fidelity) -> str:
    p99 = percentile_ms(fidelity.dispatch_lag_s, "p99")
    return p99 if p99.startswith("needs") else f"{p99} ms"


def _workers(fidelity: Fidelity) -> Iterator[str]:
    if fidelity.workers > 1:
        yield f"{fidelity.workers} processes"
    if fidelity.path is not ClientPath.DIRECT:
        yield f"sent by way of {fidelity.path.value}"


def _steadiness(one: Measurement) -> Iterator[str]:
    given_up = given_up_text(one)
    if given_up is not None:
        yield given_up
    elif is_unstable(one) and one.steadiness is not None:
        yield f"unstable: {number(one.steadiness.oversaturated_at_s)} s in, the load was seen to outgrow the server"
    else:
        yield {True: "steady", False: "drifting", None: "too few requests to tell whether steady"}[one.window_is_steady]
        yield from _transient(one, one.steadiness)


def _transient(one: Measurement, steadiness: Steadiness | None) -> Iterator[str]:
    if steadiness is None:
        return
    if steadiness.transient_s:
        longer_s = one.warmup_s + LONGER_WARMUP * steadiness.transient_s
        yield (
            f"its first {steadiness.transient_s:.3g} s are still transient and counted: "
            f"warm up for {longer_s:.3g} s or more"
        )
    if steadiness.is_steady is False and one.window_is_steady is not False:
        yield "what follows drifts"
    elif steadiness.is_steady is True and one.window_is_steady is False:
        yield "what follows is steady"


def _cache(cache: CacheState) -> Iterator[str]:
    yield cache.policy + ("" if cache.enforced_by is None else f" ({_BY[cache.enforced_by]})")
    yield f"hit ratio {NOT_MEASURED if cache.hit_ratio is None else percent(cache.hit_ratio)}"
    if cache.asked_hit_ratio is not None:
        yield f"asked {percent(cache.asked_hit_ratio)}"
    if cache.expected_hit_ratio is not None:
        yield f"expected {percent(cache.expected_hit_ratio)}, checked {percent(cache.checked_hit_ratio)}"
    yield _HOLDS[cache.holds]


def _ms(seconds: float | None) -> str:
    return "not enough samples" if seconds is None else f"{milliseconds(seconds)} ms"
