"""Requests in flight: a sweep over their starts and ends, from recorded service times or a stated latency model."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workloads.model import Frozen
from workloads.profile.people.model import Concurrency
from workloads.trace import NS_PER_S, Trace, TraceFacts


class LatencyModel(Frozen):
    """A service time stated rather than measured; it does not grow with load."""

    base_s: float = Field(default=0.0, ge=0)
    per_input_token_s: float = Field(default=0.0, ge=0)
    per_output_token_s: float = Field(default=0.0, ge=0)

    def service_ns(self, input_tokens: NDArray[np.int32], output_tokens: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the service time of each request, nanoseconds."""
        seconds = self.base_s + self.per_input_token_s * input_tokens + self.per_output_token_s * output_tokens
        service_ns: NDArray[np.int64] = np.rint(seconds * NS_PER_S).astype(np.int64)
        return service_ns

    def __str__(self) -> str:
        return (
            f"{self.base_s:g} s + {self.per_input_token_s:g} s an input token"
            f" + {self.per_output_token_s:g} s an output token"
        )


def describe_concurrency(trace: Trace, latency: LatencyModel | None) -> Concurrency | None:
    """Describe answered requests in flight between the first and the last of their arrivals.

    Service times are the trace's own where it has them for all answered requests, else the stated model's; None without
    either. Mean and percentiles weigh each number in flight with the time that it lasted. Requests that failed at the
    source are left out, for nobody knows how long they stayed. Nothing is stated of a trace without times.
    """
    rows = trace.answered().rows
    if rows.height == 0:
        return None
    start_ns = rows["arrival_ns"].to_numpy()
    if "service_ns" in rows.columns and rows["service_ns"].null_count() == 0:
        return _sweep(start_ns, rows["service_ns"].to_numpy(), facts=trace.facts, stated=None)
    if latency is None or (trace.span_ns == 0 and rows.height > 1):
        return None
    lengths = (rows["input_tokens"].to_numpy(), rows["output_tokens"].to_numpy())
    return _sweep(start_ns, latency.service_ns(*lengths), facts=trace.facts, stated=str(latency))


def _sweep(
    start_ns: NDArray[np.int64], service_ns: NDArray[np.int64], *, facts: TraceFacts, stated: str | None
) -> Concurrency | None:
    """Count requests in [start, end) at each start and end; one that takes no time is never in flight."""
    end_ns = np.sort(start_ns + np.maximum(service_ns, 0))
    until_ns = int(start_ns[-1]) if start_ns[-1] > start_ns[0] else int(end_ns[-1])
    times_ns = np.sort(np.concatenate([start_ns, end_ns]), kind="stable")
    times_ns = times_ns[times_ns <= until_ns]
    lasts_ns = np.diff(times_ns, append=until_ns)
    level = np.searchsorted(start_ns, times_ns, side="right") - np.searchsorted(end_ns, times_ns, side="right")
    if not lasts_ns.any():
        return None
    p50, p99 = _weighted(level, lasts_ns, (0.5, 0.99))
    busiest = int(np.argmax(level))
    source: Literal["measured", "stated"] = "measured" if stated is None else "stated"
    return Concurrency(
        source=source,
        latency_model=stated,
        mean=float(np.average(level, weights=lasts_ns)),
        p50=p50,
        p99=p99,
        peak=int(level[busiest]),
        peak_at_s=float(times_ns[busiest] / NS_PER_S),
        notes=_notes(facts),
    )


def _weighted(level: NDArray[np.int64], lasts_ns: NDArray[np.int64], shares: tuple[float, ...]) -> tuple[float, ...]:
    """Return the smallest numbers in flight that were not passed for these shares of the time."""
    time_ns = np.cumsum(np.bincount(level, weights=lasts_ns))
    return tuple(float(np.searchsorted(time_ns, share * time_ns[-1])) for share in shares)


def _notes(facts: TraceFacts) -> tuple[str, ...]:
    if facts.grid_ns <= facts.resolution_ns:
        return ()
    return (f"arrivals lie on a grid of {facts.grid_ns / NS_PER_S:g} s: those of one cell count as sent at once",)
