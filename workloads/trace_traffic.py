"""The traffic of a trace: the requests of a window of it, brought to a rate.

The one place that reads a trace file for a schedule, where the caller gives no trace.
"""

import numpy as np

from workloads.readers import read_trace
from workloads.trace import Trace, TraceError
from workloads.trace_window import TraceWindow, compress, cut_window, thin
from workloads.traffic import Facts, Traffic
from workloads.workload import TraceSource, Workload


def open_piece(
    workload: Workload, source: TraceSource, trace: Trace | None, *, rate_rps: float, duration_s: float
) -> Traffic:
    """Make the traffic of an open loop.

    Raises:
        TraceError: the trace cannot be read, or its window is too short for the load.
    """
    window, facts = _window(source, trace, workload.seed)
    traffic = _bring_to_rate(window, workload, rate_rps=rate_rps, duration_s=duration_s)
    return traffic._replace(facts=facts | traffic.facts)


def closed_piece(source: TraceSource, trace: Trace | None, *, num_requests: int, seed: int) -> Traffic:
    """Make the traffic of a closed loop: the window's first requests, without times.

    Raises:
        TraceError: the trace cannot be read, or its window holds fewer requests.
    """
    window, facts = _window(source, trace, seed)
    if len(window.requests) < num_requests:
        raise TraceError(
            f"the trace's window carries {len(window.requests)} requests, asked {num_requests}",
            path=source.path,
            advice="Ask for fewer requests or widen the window",
        )
    return Traffic(window.requests.select(np.arange(num_requests)), None, facts)


def _window(source: TraceSource, trace: Trace | None, seed: int) -> tuple[TraceWindow, Facts]:
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
