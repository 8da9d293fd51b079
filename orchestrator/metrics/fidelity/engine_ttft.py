"""The client's TTFT beside the engine's own histogram of the same requests: what lies between is the path's.

Compares means over one span between two scrapes. Never compares where the two did not count the same requests.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.records import ReplayLog, Window
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.metrics.fidelity.findings import Finding

# What a sound path adds: the engine's HTTP layer and tokenizer a few ms, Ray Serve's proxy 14 ms on a small machine.
PATH_DEGRADED_S = 0.030
PATH_DEGRADED_RATIO = 0.2  # of the engine's own mean: less does not turn a comparison of TTFTs round
MIN_COUNT = 6  # as few as carry a median
MIN_SCRAPES = 2
# First tokens on their way at the span's ends are counted by one of the two only; more, and others used the engine.
STRANGERS = 2
STRANGERS_RATIO = 0.05


class EngineTtft(NamedTuple):
    """Mean TTFT of the engine's histogram and the client's less that, seconds, over the client's requests."""

    mean_s: float
    difference_s: float
    num_requests: int

    @property
    def limit_s(self) -> float:
        """Return the largest difference that a sound path explains."""
        return max(PATH_DEGRADED_S, PATH_DEGRADED_RATIO * self.mean_s)

    @property
    def agrees(self) -> bool:
        """Say whether both saw the first tokens at the same time."""
        return abs(self.difference_s) <= self.limit_s


def compare_ttft(log: ReplayLog, telemetry: Telemetry | None) -> EngineTtft | None:
    """Compare mean TTFT over first tokens between the scrapes that bound the window; both counted from receipt or send.

    None where the engine has no histogram, fewer than two scrapes bound the window, fewer than six requests lie between
    them, or more requests than the edges explain were seen by one of the two only.
    """
    scraped = None if telemetry is None else _rise(telemetry, log.window)
    if scraped is None:
        return None
    span, total_s, count = scraped
    ttfts_s = [
        (one.chunk_ns[0] - one.sent_ns) / NS_PER_S
        for one in log.records
        if one.chunk_ns and one.sent_ns is not None and span.start_ns < one.chunk_ns[0] <= span.end_ns
    ]
    if min(count, len(ttfts_s)) < MIN_COUNT:
        return None
    found = EngineTtft(total_s / count, float(np.mean(ttfts_s)) - total_s / count, len(ttfts_s))
    return found if _is_comparable(found, count, max(ttfts_s)) else None


def _is_comparable(found: EngineTtft, engine_count: int, longest_s: float) -> bool:
    """Say whether both counted the same requests, or the others cannot have moved the means by half the limit."""
    strangers = abs(engine_count - found.num_requests)
    if strangers > max(STRANGERS, STRANGERS_RATIO * found.num_requests):
        return False
    return strangers * longest_s / found.num_requests <= found.limit_s / 2


def judge_engine_ttft(found: EngineTtft | None) -> Iterator[Finding]:
    """Find a path that takes longer than a sound one, and a first token that was seen before the engine had one."""
    if found is None or found.agrees:
        return
    means = f"{(found.mean_s + found.difference_s) * 1000:.1f} ms against the engine's own {found.mean_s * 1000:.1f} ms"
    if found.difference_s > 0:
        why = "the difference was spent between engine and client: a proxy, the network, the server's HTTP layer"
    else:
        why = "what the client took for the first token was none, or others used the engine"
    yield Finding(Verdict.DEGRADED, f"the client's mean TTFT is {means}, beyond {found.limit_s * 1000:.0f} ms: {why}")


def _rise(telemetry: Telemetry, window: Window) -> tuple[Window, float, int] | None:
    """Return the span between the scrapes that bound the window, and by how much sum and count rose in it."""
    sums, counts = telemetry.get("engine_ttft.sum"), telemetry.get("engine_ttft.count")
    if sums is None or counts is None:
        return None
    times, sum_s, count = _together(sums, counts)
    first = max(int(np.searchsorted(times, window.start_ns, side="right")) - 1, 0)
    end = int(np.searchsorted(times, window.end_ns, side="left"))
    reached = slice(first, end)
    if end - first < MIN_SCRAPES or (np.diff(count[reached]) < 0).any():
        return None
    span = Window(int(times[first]), int(times[end - 1]))
    return span, float(sum_s[end - 1] - sum_s[first]), round(float(count[end - 1] - count[first]))


def _together(sums: Series, counts: Series) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Keep the scrapes that gave both, finite."""
    times, at_sum, at_count = np.intersect1d(sums.times_ns, counts.times_ns, return_indices=True)
    sum_s, count = sums.values[at_sum], counts.values[at_count]
    kept = np.isfinite(sum_s) & np.isfinite(count)
    return times[kept], sum_s[kept], count[kept]
