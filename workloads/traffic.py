"""From a workload's source to requests and their times, before lengths are scaled.

Made traffic needs no table of a trace: what reads and cuts one is imported where a workload names a trace.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.arrivals import constant_arrivals
from workloads.catalog import load_profile
from workloads.model import PoissonArrivals, TrafficModel
from workloads.requests import Requests
from workloads.synthesis.arrivals import draw_arrivals
from workloads.synthesis.curves import Clock
from workloads.synthesis.make import make_part, make_requests
from workloads.synthesis.profile_file import read_traffic
from workloads.workload import FixedSource, ProfileSource, PublishedSource, TraceSource, Workload

if TYPE_CHECKING:
    from workloads.trace import Trace

Facts = dict[str, object]


class Traffic(NamedTuple):
    """Requests in order, their arrival times in nanoseconds (None in a closed loop), and how both were made."""

    requests: Requests
    arrival_ns: NDArray[np.int64] | None
    facts: Facts


def open_traffic(workload: Workload, *, rate_rps: float, duration_s: float, trace: "Trace | None") -> Traffic:
    """Make the traffic of an open loop."""
    match workload.source:
        case TraceSource() as source:
            from workloads.trace_traffic import open_piece  # noqa: PLC0415 - tables take half a second to import

            return open_piece(workload, source, trace, rate_rps=rate_rps, duration_s=duration_s)
        case PublishedSource() | ProfileSource() as source:
            model, facts = _model(source)
            part, how = make_part(
                model,
                source.knobs,
                rate_rps=rate_rps,
                duration_s=duration_s,
                seed=workload.seed,
                rate_method=workload.rate_method,
            )
            return Traffic(part.requests, part.arrival_ns, facts | {"arrivals": how})
        case FixedSource() as source:
            arrival_ns = _fixed_arrivals(source, workload.seed, rate_rps=rate_rps, duration_s=duration_s)
            facts = {"source": {"kind": source.kind}, "arrivals": {"kind": source.pattern}}
            return Traffic(_fixed_requests(source, len(arrival_ns)), arrival_ns, facts)


def closed_traffic(workload: Workload, *, num_requests: int, trace: "Trace | None") -> Traffic:
    """Make the traffic of a closed loop: requests without times."""
    match workload.source:
        case TraceSource() as source:
            from workloads.trace_traffic import closed_piece  # noqa: PLC0415 - as above

            return closed_piece(source, trace, num_requests=num_requests, seed=workload.seed)
        case PublishedSource() | ProfileSource() as source:
            model, facts = _model(source)
            requests, how = make_requests(model, source.knobs, count=num_requests, seed=workload.seed)
            return Traffic(requests, None, facts | how)
        case FixedSource() as source:
            return Traffic(_fixed_requests(source, num_requests), None, {"source": {"kind": source.kind}})


def _model(source: PublishedSource | ProfileSource) -> tuple[TrafficModel, Facts]:
    """Return the model that a source means, and facts that name it: of a file its name, of any its digest."""
    model, name = _named_model(source)
    facts: Facts = {"source": {"kind": source.kind, "name": name, "digest": model.digest}}
    return model, facts | ({"knobs": source.knobs.facts} if source.knobs.facts else {})


def _named_model(source: PublishedSource | ProfileSource) -> tuple[TrafficModel, str | None]:
    match source:
        case PublishedSource(name=name):
            return load_profile(name).traffic, name
        case ProfileSource(traffic=TrafficModel() as model):
            return model, None
        case ProfileSource(path=Path() as path):
            return read_traffic(path), path.name
        case _:
            raise TypeError(f"expected a source with a path or a model, seen {source}")


def _fixed_arrivals(source: FixedSource, seed: int, *, rate_rps: float, duration_s: float) -> NDArray[np.int64]:
    if source.pattern == "constant":
        return constant_arrivals(rate_rps, duration_s)
    return draw_arrivals(PoissonArrivals(), Clock(duration_s), rate_rps=rate_rps, seed=seed)


def _fixed_requests(source: FixedSource, count: int) -> Requests:
    inputs, outputs = (np.full(count, tokens, np.int32) for tokens in (source.input_tokens, source.output_tokens))
    return Requests(inputs, outputs)
