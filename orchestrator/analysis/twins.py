"""Whether an engine can tell a trace from its synthetic twin: distances of latencies, against repeats of the trace.

Distances are two-sample Kolmogorov-Smirnov statistics, so they need no unit and no assumption on the shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from orchestrator.domain.records import ReplayLog
from orchestrator.metrics import latency
from orchestrator.metrics.window import issued_in

FACTOR = 1.5
PERCENT = 95
MIN_REPEATS = 3


class Samples(NamedTuple):
    """What one replay saw in its window: TTFT and ITL, seconds, and requests in flight at each arrival."""

    ttft_s: NDArray[np.float64]
    itl_s: NDArray[np.float64]
    in_flight: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Nearness:
    """One figure: the twin's median distance to the repeats, and the P95 distance of the repeats to each other."""

    figure: str
    twin: float
    repeats: float
    num_twin: int
    num_trace: int

    @property
    def limit(self) -> float:
        """Return 1.5 times what repeats of the trace are from each other."""
        return FACTOR * self.repeats

    @property
    def passes(self) -> bool:
        """Say whether the twin lies within the limit."""
        return self.twin <= self.limit


def samples_of(log: ReplayLog) -> Samples:
    """Take the samples of one replay; failed requests have none."""
    issued = issued_in(log.records, log.window)
    ttfts = [value for one in issued if (value := latency.ttft_s(one)) is not None]
    itls = [value for one in issued for value in latency.itls_s(one) or ()]
    return Samples(np.array(ttfts), np.array(itls), _in_flight(log))


def compare_replays(repeats: Sequence[Samples], twin: Samples) -> tuple[Nearness, ...]:
    """Compare the twin with repeats of the trace, figure by figure; a figure without samples is left out.

    Raises:
        ValueError: fewer than three repeats, whose spread would say nothing.
    """
    if len(repeats) < MIN_REPEATS:
        raise ValueError(f"expected at least {MIN_REPEATS} repeats of the trace, seen {len(repeats)}")
    figures = ((name, [getattr(one, name) for one in repeats], getattr(twin, name)) for name in Samples._fields)
    return tuple(
        _nearness(name, seen, made) for name, seen, made in figures if made.size and all(one.size for one in seen)
    )


def _nearness(name: str, seen: Sequence[NDArray[np.float64]], made: NDArray[np.float64]) -> Nearness:
    among = [_distance(one, other) for one, other in combinations(seen, 2)]
    to_twin = [_distance(one, made) for one in seen]
    return Nearness(
        figure=name,
        twin=float(np.median(to_twin)),
        repeats=float(np.percentile(among, PERCENT)),
        num_twin=made.size,
        num_trace=min(one.size for one in seen),
    )


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(stats.ks_2samp(one, other).statistic)


def _in_flight(log: ReplayLog) -> NDArray[np.float64]:
    """Count the requests that were sent and not yet ended when each measured one was sent, itself left out."""
    sent = np.sort([one.sent_ns for one in log.records if one.sent_ns is not None])
    ended = np.sort([one.end_ns for one in log.records if one.sent_ns is not None])
    at = np.array([one.sent_ns for one in issued_in(log.records, log.window) if one.sent_ns is not None])
    return (np.searchsorted(sent, at, side="left") - np.searchsorted(ended, at, side="right")).astype(np.float64)
