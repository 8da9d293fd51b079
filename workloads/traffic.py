"""From a workload's source to requests and their times, before lengths are scaled.

The one place that reads a trace file for a schedule, where the caller gives no trace.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.arrivals import constant_arrivals, renewal_arrivals
from workloads.catalog import load_profile
from workloads.published import draw_requests
from workloads.readers import read_trace
from workloads.requests import Requests
from workloads.trace import Trace, TraceError
from workloads.trace_window import TraceWindow, compress, cut_window, thin
from workloads.workload import FixedSource, PublishedSource, TraceSource, Workload


class Traffic(NamedTuple):
    """Requests in order, their arrival times in nanoseconds (None in a closed loop), and how both were made."""

    requests: Requests
    arrival_ns: NDArray[np.int64] | None
    facts: dict[str, object]


def open_traffic(workload: Workload, *, rate_rps: float, duration_s: float, trace: Trace | None) -> Traffic:
    """Make the traffic of an open loop."""
    match workload.source:
        case TraceSource() as source:
            window, facts = _window(source, trace, workload.seed)
            traffic = _bring_to_rate(window, workload, rate_rps=rate_rps, duration_s=duration_s)
            return traffic._replace(facts=facts | traffic.facts)
        case PublishedSource() as source:
            family = load_profile(source.name).arrivals
            arrival_ns = renewal_arrivals(
                family.family, family.cv, rate_rps=rate_rps, duration_s=duration_s, seed=workload.seed
            )
            requests, facts = _made(source, len(arrival_ns), workload.seed)
            return Traffic(requests, arrival_ns, facts | {"arrivals": family.model_dump(mode="json")})
        case FixedSource() as source:
            arrival_ns = _fixed_arrivals(source, workload.seed, rate_rps=rate_rps, duration_s=duration_s)
            requests, facts = _made(source, len(arrival_ns), workload.seed)
            return Traffic(requests, arrival_ns, facts | {"arrivals": {"family": source.pattern}})


def closed_traffic(workload: Workload, *, num_requests: int, trace: Trace | None) -> Traffic:
    """Make the traffic of a closed loop: requests without times."""
    match workload.source:
        case TraceSource() as source:
            window, facts = _window(source, trace, workload.seed)
            if len(window.requests) < num_requests:
                raise TraceError(
                    f"the trace's window carries {len(window.requests)} requests, asked {num_requests}",
                    path=source.path,
                    advice="Ask for fewer requests or widen the window",
                )
            return Traffic(window.requests.select(np.arange(num_requests)), None, facts)
        case PublishedSource() | FixedSource() as source:
            requests, facts = _made(source, num_requests, workload.seed)
            return Traffic(requests, None, facts)


def _window(source: TraceSource, trace: Trace | None, seed: int) -> tuple[TraceWindow, dict[str, object]]:
    opened = trace if trace is not None else read_trace(source.path, format=source.format, unit=source.unit)
    window = cut_window(opened, source, seed)
    named = {"kind": "trace", "name": opened.facts.source, "format": opened.facts.format, "digest": opened.digest}
    return window, {"source": named, "window": window.facts}


def _bring_to_rate(window: TraceWindow, workload: Workload, *, rate_rps: float, duration_s: float) -> Traffic:
    match workload.rate_method:
        case "compress":
            arrival_ns, how = compress(window, rate_rps=rate_rps, duration_s=duration_s)
            kept = np.arange(len(arrival_ns))
        case "thin":
            kept, how = thin(window, rate_rps=rate_rps, duration_s=duration_s, seed=workload.seed)
            arrival_ns = window.arrival_ns[kept]
    return Traffic(window.requests.select(kept), arrival_ns, {"arrivals": how})


def _fixed_arrivals(source: FixedSource, seed: int, *, rate_rps: float, duration_s: float) -> NDArray[np.int64]:
    if source.pattern == "constant":
        return constant_arrivals(rate_rps, duration_s)
    return renewal_arrivals(source.pattern, 1.0, rate_rps=rate_rps, duration_s=duration_s, seed=seed)


def _made(source: PublishedSource | FixedSource, count: int, seed: int) -> tuple[Requests, dict[str, object]]:
    match source:
        case PublishedSource():
            profile = load_profile(source.name)
            facts = {"kind": source.kind, "name": profile.name, "digest": profile.digest}
            return draw_requests(profile, count, seed), {"source": facts}
        case FixedSource():
            requests = Requests(
                np.full(count, source.input_tokens, dtype=np.int32),
                np.full(count, source.output_tokens, dtype=np.int32),
            )
            return requests, {"source": {"kind": source.kind}}
