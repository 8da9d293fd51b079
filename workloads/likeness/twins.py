"""Twins of a trace, made from the model of its profile over the same length of time, and their likeness to it."""

from workloads.errors import WorkloadError
from workloads.likeness.figures import measure
from workloads.likeness.table import Likeness, compare
from workloads.model import TrafficModel
from workloads.synthesis.knobs import Knobs
from workloads.synthesis.made_trace import make_trace
from workloads.trace import Trace


def make_twin(model: TrafficModel, *, seed: int) -> Trace:
    """Make a twin at the model's own rate over its own span.

    Raises:
        WorkloadError: the model was not measured, so it has no rate or span of its own.
    """
    if model.rate_rps is None or model.span_s is None:
        raise WorkloadError("expected a profile of a trace, seen a model without rate or span; profile a trace first")
    return make_trace(model, Knobs(), rate_rps=model.rate_rps, duration_s=model.span_s, seed=seed)


def verify_twin(trace: Trace, model: TrafficModel, *, seed: int, num_twins: int) -> Likeness:
    """Compare a trace with its twin of `seed`, and tell the noise from `num_twins` twins of the seeds after it.

    A trace on a coarse grid is measured as it is: the twin's requests are spread inside the grid's cells.
    """
    others = [measure(make_twin(model, seed=one)) for one in range(seed + 1, seed + 1 + num_twins)]
    return compare(measure(trace), measure(make_twin(model, seed=seed)), others=others, seed=seed)
