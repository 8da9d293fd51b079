"""A window of a trace, brought to an offered rate: time scaled or requests thinned, and it is said which.

The rate is met over the very piece that is replayed. A trace's mean over an hour would not do: its first minute
may be three times slower, and the load would carry a rate that was never offered.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workloads.requests import NO_SESSION, Requests
from workloads.streams import uniforms
from workloads.trace import NS_PER_S, Trace, TraceError
from workloads.workload import TraceSource

MAX_UNSPREAD_GRID_NS = 10_000_000
SAME_RATE_RATIO = 0.01
Facts = dict[str, object]


@dataclass(frozen=True, slots=True)
class TraceWindow:
    """Answered requests of a trace's window.

    `arrival_ns` counts from the window's start, `rows` are the requests' places among the trace's answered ones.
    """

    arrival_ns: NDArray[np.int64]
    rows: NDArray[np.int64]
    requests: Requests
    length_ns: int
    facts: Facts

    @property
    def rate_rps(self) -> float:
        """Return the mean rate over the whole window, requests/s."""
        return self.arrival_ns.size * NS_PER_S / self.length_ns

    def rate_over(self, duration_s: float) -> float:
        """Return the mean rate over the window's first seconds: offered at it, arrivals stay as they were."""
        count = np.searchsorted(self.arrival_ns, min(self.length_ns, round(duration_s * NS_PER_S)))
        return int(count) / min(self.length_ns / NS_PER_S, duration_s)


def cut_window(trace: Trace, source: TraceSource, seed: int) -> TraceWindow:
    """Cut the window that a source asks for; requests that failed at the trace's source are left out.

    Raises:
        TraceError: the window reaches beyond the trace or holds no request.
    """
    answered = trace.answered()
    times = spread_arrivals(answered, seed)
    start_ns, length_ns = _bounds_ns(trace, source)
    rows = np.flatnonzero((times >= start_ns) & (times < start_ns + length_ns))
    if rows.size == 0:
        raise TraceError(
            f"no requests within {length_ns / NS_PER_S:g} s from {source.start_s:g} s on",
            path=source.path,
            advice="Choose another window",
        )
    facts: Facts = {
        "start_s": source.start_s,
        "window_s": length_ns / NS_PER_S,
        "mean_rps": rows.size * NS_PER_S / length_ns,
        "num_failed_left_out": trace.num_failed,
        "spread_inside_s": answered.facts.grid_ns / NS_PER_S if is_spread(answered) else None,
        "dropped": dict(trace.facts.dropped),
        "notes": list(trace.facts.notes),
    }
    requests = Requests(
        answered.input_tokens,
        answered.output_tokens,
        answered.block_ids,
        trace.facts.block_tokens,
        _number_sessions(answered),
    )
    return TraceWindow(times[rows] - start_ns, rows, requests.select(rows), length_ns, facts)


def _number_sessions(trace: Trace) -> NDArray[np.int64] | None:
    """Number sessions in order of their first requests, -1 for a request in none; None where the trace has none."""
    if "session_id" not in trace.rows.columns:
        return None
    ids = trace.rows["session_id"]
    is_known = ids.is_not_null().to_numpy()
    _, first, place = np.unique(ids.drop_nulls().to_numpy(), return_index=True, return_inverse=True)
    numbers = np.full(len(trace), NO_SESSION, dtype=np.int64)
    numbers[is_known] = np.argsort(np.argsort(first))[place]
    return numbers


def cut_piece(trace: Trace, *, start_s: float, duration_s: float | None) -> Trace:
    """Return what arrives in [start, start + duration) as a trace of its own, failed requests too; None: to the end.

    Raises:
        TraceError: nothing arrives then.
    """
    start_ns = round(start_s * NS_PER_S)
    end_ns = trace.span_ns + 1 if duration_s is None else start_ns + round(duration_s * NS_PER_S)
    rows = trace.rows.filter(pl.col("arrival_ns").is_between(start_ns, end_ns, closed="left"))
    if rows.is_empty():
        raise TraceError(
            f"no request between {start_ns / NS_PER_S:g} and {end_ns / NS_PER_S:g} s", advice="Choose another piece"
        )
    return Trace(rows.with_columns(pl.col("arrival_ns") - pl.col("arrival_ns").first()), trace.facts)


def is_spread(trace: Trace) -> bool:
    """Say whether arrivals lie on a grid so coarse that they are spread inside its cells."""
    return trace.facts.grid_ns > MAX_UNSPREAD_GRID_NS


def spread_arrivals(trace: Trace, seed: int) -> NDArray[np.int64]:
    """Spread arrivals of a coarse grid evenly at random inside their cells; rows keep their order."""
    if not is_spread(trace):
        return trace.arrival_ns
    offsets = (uniforms(seed, "spread", len(trace)) * trace.facts.grid_ns).astype(np.int64)
    return np.sort(trace.arrival_ns + offsets)


def compress(window: TraceWindow, *, rate_rps: float, duration_s: float) -> tuple[NDArray[np.int64], Facts]:
    """Scale time by one factor; return arrival times of the window's first requests, and what was done.

    The first `rate * duration` requests fill the duration. Where the window's own rate over that duration is the
    asked one, to within 1 % or one request, its arrivals stay as they are.

    Raises:
        TraceError: the window is too short for the duration at this rate.
    """
    duration_ns = round(duration_s * NS_PER_S)
    count = round(rate_rps * duration_s)
    if _is_own_rate(window, duration_ns, count):
        times, factor = window.arrival_ns, 1.0
    else:
        piece_ns = _piece_ns(window, count, rate_rps=rate_rps, duration_s=duration_s)
        factor = piece_ns / duration_ns
        times = np.rint(window.arrival_ns / factor).astype(np.int64)
    kept = times[times < duration_ns]
    return kept, {"method": "compress", "time_factor": factor}


def thin(window: TraceWindow, *, rate_rps: float, duration_s: float, seed: int) -> tuple[NDArray[np.int64], Facts]:
    """Keep each request with one probability; return positions in the window, and what was done.

    A lower rate keeps a subset of what a higher one keeps.

    Raises:
        TraceError: the rate is above the window's own over that duration, or the window is too short.
    """
    duration_ns = round(duration_s * NS_PER_S)
    if window.length_ns < duration_ns:
        raise _too_short(window.length_ns / NS_PER_S, rate_rps=rate_rps, duration_s=duration_s)
    positions = np.flatnonzero(window.arrival_ns < duration_ns)
    if _is_own_rate(window, duration_ns, round(rate_rps * duration_s)):
        return positions, {"method": "thin", "keep_ratio": 1.0}
    own_rps = positions.size / duration_s
    if rate_rps > own_rps:
        raise TraceError(
            f"thinning cannot raise the rate: {own_rps:.6g} requests/s in these {duration_s:g} s, asked {rate_rps:g}",
            advice="Use rate_method: compress, a lower rate, or a busier window",
        )
    keep_ratio = rate_rps / own_rps
    draws = uniforms(seed, "thinning", int(window.rows[-1]) + 1)[window.rows[positions]]
    return positions[draws < keep_ratio], {"method": "thin", "keep_ratio": keep_ratio}


def _bounds_ns(trace: Trace, source: TraceSource) -> tuple[int, int]:
    start_ns = round(source.start_s * NS_PER_S)
    rest_ns = trace.span_ns + trace.facts.grid_ns - start_ns
    length_ns = rest_ns if source.duration_s is None else round(source.duration_s * NS_PER_S)
    if rest_ns <= 0 or length_ns > rest_ns:
        beyond_s, span_s = (length_ns - rest_ns) / NS_PER_S, trace.span_ns / NS_PER_S
        raise TraceError(
            f"the window ends {beyond_s:g} s after the trace, which has {span_s:g} s",
            path=source.path,
            advice="Shorten the window or start it earlier",
        )
    return start_ns, length_ns


def _is_own_rate(window: TraceWindow, duration_ns: int, count: int) -> bool:
    own_count = int(np.searchsorted(window.arrival_ns, duration_ns))
    return window.length_ns >= duration_ns and abs(own_count - count) <= max(1.0, SAME_RATE_RATIO * count)


def _piece_ns(window: TraceWindow, count: int, *, rate_rps: float, duration_s: float) -> int:
    """Return how much of the window its first `count` requests take: up to the next one, or the window's end."""
    num_requests = window.arrival_ns.size
    if count > num_requests:
        raise _too_short(num_requests / rate_rps, rate_rps=rate_rps, duration_s=duration_s)
    piece_ns = int(window.arrival_ns[count]) if count < num_requests else window.length_ns
    if piece_ns == 0:
        raise TraceError(f"its first {count + 1} requests share one instant", advice="Choose a later window")
    return piece_ns


def _too_short(carried_s: float, *, rate_rps: float, duration_s: float) -> TraceError:
    return TraceError(
        f"at {rate_rps:g} requests/s the trace's window carries {carried_s:.3f} s, asked {duration_s:g} s",
        advice="Shorten the load, lower the rate, or widen the window",
    )
