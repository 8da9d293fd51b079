"""An open-loop load's course in equal slices of time: how many were in flight, how many ended, how long they waited.

Counts only; what the course means is judged elsewhere.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.records import RequestRecord, Window
from orchestrator.metrics import latency

MIN_SLICE_S = 0.5
ARRIVALS_PER_SLICE = 5.0  # fewer, and the ends of a slice are no longer near enough to a normal sample

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trail:
    """A load's course in k slices of `slice_s` seconds.

    `in_flight` holds k + 1 values, at the slices' borders; the others k: how many requests ended, of how many of them
    TTFT from intended arrival is known, its sum and its least, seconds (infinite where there is none).
    """

    slice_s: float
    in_flight: Counts
    ended: Counts
    timed: Counts
    ttft_sum_s: Floats
    ttft_least_s: Floats

    def __len__(self) -> int:
        return len(self.ended)

    def part(self, start: int, end: int) -> "Trail":
        """Return slices [start, end)."""
        inside = slice(start, end)
        return Trail(
            self.slice_s,
            self.in_flight[start : end + 1],
            self.ended[inside],
            self.timed[inside],
            self.ttft_sum_s[inside],
            self.ttft_least_s[inside],
        )

    def thirds(self) -> tuple["Trail", "Trail", "Trail"]:
        """Return the first, the middle and the last third; what is left over goes to the middle."""
        size = len(self) // 3
        return self.part(0, size), self.part(size, len(self) - size), self.part(len(self) - size, len(self))


def slice_length_s(rate_rps: float) -> float:
    """Return the length of a slice for a load: half a second, or as long as five arrivals take."""
    return max(MIN_SLICE_S, ARRIVALS_PER_SLICE / rate_rps)


def trail_of(records: Iterable[RequestRecord], window: Window, slice_s: float) -> Trail:
    """Return the course of a window from its records, warm-up's included; an unfinished last slice is left out."""
    kept = tuple(records)
    count = math.floor(window.duration_s / slice_s + 1e-9)
    borders = window.start_ns + np.round(np.arange(count + 1) * slice_s * NS_PER_S)
    began = np.sort([one.intended_ns for one in kept])
    ends = np.array([one.end_ns for one in kept], dtype=np.int64)
    ttfts = [latency.ttft_from_intended_s(one) for one in kept]
    in_flight = np.searchsorted(began, borders, "right") - np.searchsorted(np.sort(ends), borders, "right")
    places = np.searchsorted(borders, ends, "right") - 1
    is_inside = (places >= 0) & (places < count)
    timed = np.array([is_in and ttft_s is not None for is_in, ttft_s in zip(is_inside, ttfts, strict=True)], dtype=bool)
    seen_s = np.array([ttft_s for ttft_s, is_timed in zip(ttfts, timed, strict=True) if is_timed], dtype=np.float64)
    least_s = np.full(count, np.inf)
    np.minimum.at(least_s, places[timed], seen_s)
    return Trail(
        slice_s=slice_s,
        in_flight=in_flight,
        ended=np.bincount(places[is_inside], minlength=count),
        timed=np.bincount(places[timed], minlength=count),
        ttft_sum_s=np.bincount(places[timed], weights=seen_s, minlength=count).astype(np.float64),
        ttft_least_s=least_s,
    )
