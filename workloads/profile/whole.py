"""The whole profile of a trace: each part measured by its own package, traits read off the figures, one model."""

from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workloads.model import Dependence, TrafficModel
from workloads.profile.arrivals.describe import describe_arrivals
from workloads.profile.arrivals.spectrum import describe_spectrum
from workloads.profile.lengths.dependence import describe_dependence
from workloads.profile.lengths.describe import describe_lengths
from workloads.profile.lengths.summary import summarise_lengths
from workloads.profile.model import TraceFigures, TraceProfile
from workloads.profile.people.clients import describe_clients
from workloads.profile.people.concurrency import LatencyModel, describe_concurrency
from workloads.profile.people.sessions import describe_sessions
from workloads.profile.reuse.describe import describe_prefixes
from workloads.profile.traits import read_traits
from workloads.trace import NS_PER_S, Trace, TraceError

NUM_THREADS = 2


def profile_trace(trace: Trace, *, seed: int = 0, latency: LatencyModel | None = None) -> TraceProfile:
    """Profile a trace; the figures' definitions are in docs/guides/traffic.md.

    Args:
        trace: the trace.
        seed: of samples and bootstraps; the same trace and seed give the same profile.
        latency: states service times where the trace has none, for concurrency.

    Raises:
        TraceError: the trace has no requests.
    """
    figures = TraceFigures(**_measured(trace, seed, latency))
    return TraceProfile(**dict(figures), traits=read_traits(figures), traffic=_model(figures))


def _measured(trace: Trace, seed: int, latency: LatencyModel | None) -> dict[str, Any]:
    """Measure all parts, in threads: fits work in Python, the rest in NumPy, which leaves Python to them."""
    if len(trace) == 0:
        raise TraceError("no requests to profile", advice="Give a trace with at least one row")
    parts = (
        lambda: _lengths(trace, seed),
        lambda: _times(trace, seed, latency),
        lambda: _counts(trace),
        lambda: _sharing(trace),
    )
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        return dict(ChainMap(*pool.map(lambda part: part(), parts)))


def _counts(trace: Trace) -> dict[str, Any]:
    span_ns = trace.span_ns
    return {
        "format": trace.facts.format,
        "source": trace.facts.source,
        "digest": trace.digest,
        "num_requests": len(trace),
        "num_failed": trace.num_failed,
        "span_s": span_ns / NS_PER_S,
        "rate_rps": (len(trace) - 1) * NS_PER_S / span_ns if span_ns else None,
        "dropped": dict(trace.facts.dropped),
    }


def _lengths(trace: Trace, seed: int) -> dict[str, Any]:
    answered = trace.answered()
    return {
        "input_tokens": summarise_lengths(trace.input_tokens),
        "output_tokens": summarise_lengths(trace.output_tokens),
        "answered_input_tokens": summarise_lengths(answered.input_tokens),
        "answered_output_tokens": summarise_lengths(answered.output_tokens),
        "input_distribution": describe_lengths(answered.input_tokens, seed=seed),
        "output_distribution": describe_lengths(answered.output_tokens, seed=seed),
        "dependence": describe_dependence(answered.input_tokens, answered.output_tokens),
    }


def _times(trace: Trace, seed: int, latency: LatencyModel | None) -> dict[str, Any]:
    arrivals, notes = describe_arrivals(trace.arrival_ns, trace.facts, seed=seed)
    return {
        "arrivals": arrivals,
        "spectrum": describe_spectrum(trace.arrival_ns, trace.facts),
        "concurrency": describe_concurrency(trace, latency),
        "notes": (*trace.facts.notes, *notes),
    }


def _sharing(trace: Trace) -> dict[str, Any]:
    return {
        "prefix": describe_prefixes(trace),
        "sessions": describe_sessions(trace),
        "clients": describe_clients(trace),
    }


def _model(figures: TraceFigures) -> TrafficModel | None:
    inputs, outputs = figures.input_distribution, figures.output_distribution
    if inputs is None or outputs is None:
        return None
    return TrafficModel(
        arrivals=figures.arrivals.curve,
        input_tokens=inputs.quantiles,
        output_tokens=outputs.quantiles,
        dependence=Dependence(
            rank_correlation=figures.dependence.rank_correlation if figures.dependence is not None else 0.0
        ),
        prefix=figures.prefix.tree if figures.prefix is not None else None,
        sessions=figures.sessions.model if figures.sessions is not None else None,
        rate_rps=figures.rate_rps,
        span_s=figures.span_s or None,
    )
