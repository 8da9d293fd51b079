"""Whether an open-loop load outgrows its server: queue and latency both rise while less ends than is offered.

Judges counts in equal slices of time; takes no times itself and ends nothing.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.metrics.trail import Counts, Floats, Trail, slice_length_s, trail_of

OUTGREW = "the load outgrew the server"
MIN_SLICES = 20
MIN_ARRIVALS = 50
MIN_TIMED = 3  # first tokens in each third, or nothing is said about its latency
Z = 2.4  # of what was not served, over the whole span, in the first minute of a load of five requests/s
LOOKS_PER_CHANCE = 3.0  # slices that share most of their evidence; the more were looked at, the more one must show
Z_TRIMMED = 1.0  # and without the span's worst quarter, so that one bad stretch is no trend
SILENCE_ODDS = 4.0  # natural logarithm: a silence this unlikely in a steady stream of ends is a stall


@dataclass(frozen=True, slots=True)
class Outgrowth:
    """Over which span a load outgrew its server, and what was seen there."""

    span_s: float
    ended_rps: float
    in_flight: tuple[int, int]
    ttft_s: tuple[float, float]

    def text(self, rate_rps: float) -> str:
        """Spell it as the reason of an early stop."""
        return (
            f"{OUTGREW}: over {self.span_s:.0f} s, {self.ended_rps:.3g} requests/s ended of {rate_rps:.3g} offered; "
            f"in flight rose from {self.in_flight[0]} to {self.in_flight[1]}, "
            f"mean TTFT from intended arrival from {self.ttft_s[0]:.3g} to {self.ttft_s[1]:.3g} s"
        )


def outgrowth(trail: Trail, rate_rps: float, *, num_looks: int) -> Outgrowth | None:
    """Return what shows that the load has outgrown the server by the trail's end; None where nothing does.

    Looks at the span since the queue was last at its shortest, so that bursts which come and go begin anew. There, all
    of: in flight rises from third to third and by more than a Poisson process's own noise; TTFT rises likewise, and
    the last third's quickest request was slower than the first third's mean, as happens where everybody waits; fewer
    requests ended than the load offers on average, in each third, over all by 2.4 standard errors or by as many as the
    largest of `num_looks` / 3 normal values reaches, and still without the worst quarter; and the span is not one
    silence. A server that can carry the load on average ends more than that while it has a queue, so that a burst of
    an on/off load does not pass, however long it is.
    """
    span = _since_shortest(trail)
    if len(span) < MIN_SLICES or span.in_flight[-1] <= span.in_flight[0]:
        return None
    if (
        _queue_rises(span)
        and _latency_rises(span)
        and _serves_less(span, rate_rps, num_looks)
        and not _is_stall(span.ended)
    ):
        first, _, last = span.thirds()
        return Outgrowth(
            span_s=len(span) * trail.slice_s,
            ended_rps=float(span.ended.mean()) / trail.slice_s,
            in_flight=(int(span.in_flight[0]), int(span.in_flight[-1])),
            ttft_s=(_mean_ttft_s(first), _mean_ttft_s(last)),
        )
    return None


def is_given_up(log: ReplayLog) -> bool:
    """Say whether the load was ended early because it had outgrown the server, and not for another reason."""
    return log.early_stop is not None and log.early_stop.startswith(OUTGREW)


def outgrown_at_s(log: ReplayLog) -> float | None:
    """Return when in its window a load was seen to outgrow the server, seconds; None where it was not, or is closed.

    Where the load was given up, that is the moment; else each slice is judged as it would have been on the way.
    """
    if not isinstance(log.load, OpenLoad):
        return None
    if is_given_up(log):
        return log.window.duration_s
    rate_rps = log.load.rate_rps
    trail = trail_of(log.records, log.window, slice_length_s(rate_rps))
    lengths = range(MIN_SLICES, len(trail) + 1)
    return next(
        (at * trail.slice_s for at in lengths if outgrowth(trail.part(0, at), rate_rps, num_looks=at) is not None), None
    )


def _since_shortest(trail: Trail) -> Trail:
    """Return the part since the last of the moments at which the fewest requests were in flight."""
    backwards = int(np.argmin(trail.in_flight[::-1]))
    return trail.part(len(trail) - backwards, len(trail))


def _queue_rises(span: Trail) -> bool:
    first, middle, last = (float(one.in_flight[1:].mean()) for one in span.thirds())
    growth = int(span.in_flight[-1] - span.in_flight[0])
    arrivals = growth + int(span.ended.sum())
    return first < middle < last and arrivals >= MIN_ARRIVALS and growth >= math.sqrt(arrivals)


def _latency_rises(span: Trail) -> bool:
    thirds = span.thirds()
    if min(int(one.timed.sum()) for one in thirds) < MIN_TIMED:
        return False
    first, middle, last = (_mean_ttft_s(one) for one in thirds)
    everybody_waits = thirds[1].ttft_least_s.min() >= first / 2 and thirds[2].ttft_least_s.min() >= first
    return first < middle < last and bool(everybody_waits)


def _serves_less(span: Trail, rate_rps: float, num_looks: int) -> bool:
    least = max(
        Z, math.sqrt(2 * math.log(max(num_looks / LOOKS_PER_CHANCE, 1)))
    )  # the largest of so many normal values
    short = np.asarray(rate_rps * span.slice_s - span.ended, dtype=np.float64)
    size = len(short) // 3
    thirds = (short[:size], short[size:-size], short[-size:])
    return min(float(one.mean()) for one in thirds) > 0 and _z(short) >= least and _z(_trimmed(short)) >= Z_TRIMMED


def _trimmed(values: Floats) -> Floats:
    """Leave out the quarter of consecutive values that has the largest sum."""
    width = -(-len(values) // 4)
    sums = np.convolve(values, np.ones(width), mode="valid")
    start = int(np.argmax(sums))
    return np.delete(values, slice(start, start + width))


def _z(values: Floats) -> float:
    spread = float(values.std(ddof=1))
    mean = float(values.mean())
    return mean / (spread / math.sqrt(len(values))) if spread > 0 else math.copysign(math.inf, mean)


def _is_stall(ended: Counts) -> bool:
    """Say whether one silence stands out: too long for a steady stream of so many ends, and not one of several.

    In a Poisson stream of mean m a slice, a run of L empty slices is among k slices with odds of about k exp(-m L).
    """
    longest, second, *_ = sorted((*_silences(ended), 0, 0), reverse=True)
    return longest > (math.log(len(ended)) + SILENCE_ODDS) / max(float(ended.mean()), 1e-9) and longest > 2 * second


def _silences(ended: Counts) -> Iterator[int]:
    borders = np.flatnonzero(ended)
    gaps = np.diff(np.concatenate(([-1], borders, [len(ended)]))) - 1
    return (int(gap) for gap in gaps if gap > 0)


def _mean_ttft_s(part: Trail) -> float:
    return float(part.ttft_sum_s.sum()) / int(part.timed.sum())
