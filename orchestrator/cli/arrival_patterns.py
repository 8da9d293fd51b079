"""Gives a workload's requests other arrivals: even, Poisson, bursty, along a ramp."""

from typing import Literal

from orchestrator.cli.offered_loads import Ramp
from orchestrator.domain.errors import InputError
from workloads.catalog import load_profile
from workloads.model import ArrivalModel, PoissonArrivals, QuantileLengths, RenewalArrivals, TrafficModel
from workloads.synthesis.knobs import Knobs
from workloads.synthesis.profile_file import read_traffic
from workloads.workload import FixedSource, ProfileSource, PublishedSource, Source, TraceSource

Pattern = Literal["constant", "poisson", "gamma", "weibull"]


def with_arrivals(
    source: Source, pattern: Pattern | None, *, cv: float | None, ramp: Ramp | None, duration_s: float
) -> Source:
    """Return a source whose requests arrive as asked; as it was where nothing was asked.

    Raises:
        InputError: the pattern lacks its CV or has no use for one, or the source brings its own times.
    """
    spread = _spread(pattern, cv)
    if pattern is None and ramp is None:
        return source
    if isinstance(source, TraceSource):
        raise InputError("--pattern and --ramp are for made traffic; a trace is replayed at its own times")
    if ramp is not None:
        if pattern == "weibull":
            raise InputError("--ramp goes with the patterns constant, poisson and gamma")
        return _arriving(source, ramp.arrivals(duration_s, spread))
    if isinstance(source, FixedSource) and (pattern in {"constant", "poisson"}):
        return source.model_copy(update={"pattern": pattern})
    if pattern == "poisson":
        return _arriving(source, PoissonArrivals())
    return _arriving(source, RenewalArrivals(family="weibull" if pattern == "weibull" else "gamma", cv=spread))


def _spread(pattern: Pattern | None, cv: float | None) -> float:
    """Return the coefficient of variation of the gaps."""
    if pattern in {"gamma", "weibull"}:
        if cv is None or cv <= 0:
            raise InputError(f"--pattern {pattern} needs --cv, the coefficient of variation of the gaps, above 0")
        return cv
    if cv is not None:
        raise InputError("--cv goes with --pattern gamma or weibull; constant has 0, poisson 1")
    return 0.0 if pattern == "constant" else 1.0


def _arriving(source: Source, arrivals: ArrivalModel) -> ProfileSource:
    """Return a source of the same requests with these arrivals, whose times are the load's own."""
    model, knobs = _model_of(source)
    if knobs.timing:
        raise InputError(
            f"--pattern and --ramp replace the arrivals that the workload's knobs {', '.join(knobs.timing)} change; "
            "leave one of them out"
        )
    changed = model.model_copy(update={"arrivals": arrivals, "rate_rps": None, "span_s": None})
    return ProfileSource(traffic=changed, knobs=knobs)


def _model_of(source: Source) -> tuple[TrafficModel, Knobs]:
    match source:
        case PublishedSource(name=name, knobs=knobs):
            return load_profile(name).traffic, knobs
        case ProfileSource(traffic=TrafficModel() as traffic, knobs=knobs):
            return traffic, knobs
        case ProfileSource(path=path, knobs=knobs) if path is not None:
            return read_traffic(path), knobs
        case FixedSource(input_tokens=input_tokens, output_tokens=output_tokens):
            sizes = (_always(input_tokens), _always(output_tokens))
            return TrafficModel(arrivals=PoissonArrivals(), input_tokens=sizes[0], output_tokens=sizes[1]), Knobs()
        case _:
            raise InputError("--pattern and --ramp are for made traffic; a trace is replayed at its own times")


def _always(tokens: int) -> QuantileLengths:
    return QuantileLengths(probabilities=(0.0, 1.0), tokens=(float(tokens), float(tokens)))
