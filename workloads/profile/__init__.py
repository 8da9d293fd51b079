"""Profiles of traces: lengths, arrivals, prefix reuse. Pure; reading files is `workloads.readers`."""

from workloads.profile.arrivals import profile_arrivals
from workloads.profile.lengths import summarise_lengths
from workloads.profile.model import TraceProfile
from workloads.profile.prefixes import profile_prefixes
from workloads.trace import NS_PER_S, Trace, TraceError

__all__ = ["TraceProfile", "profile_trace"]


def profile_trace(trace: Trace) -> TraceProfile:
    """Profile a trace; the figures' definitions are in docs/guides/traffic.md.

    Raises:
        TraceError: the trace has no requests.
    """
    input_tokens, output_tokens = summarise_lengths(trace.input_tokens), summarise_lengths(trace.output_tokens)
    if input_tokens is None or output_tokens is None:
        raise TraceError("no requests to profile", advice="Give a trace with at least one row")
    arrivals, arrival_notes = profile_arrivals(trace.arrival_ns, trace.facts)
    answered = trace.answered()
    blocks = trace.block_ids
    span_ns = trace.span_ns
    return TraceProfile(
        format=trace.facts.format,
        source=trace.facts.source,
        digest=trace.digest,
        num_requests=len(trace),
        num_failed=trace.num_failed,
        span_s=span_ns / NS_PER_S,
        rate_rps=(len(trace) - 1) * NS_PER_S / span_ns if span_ns else None,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        answered_input_tokens=summarise_lengths(answered.input_tokens),
        answered_output_tokens=summarise_lengths(answered.output_tokens),
        arrivals=arrivals,
        prefix=profile_prefixes(blocks, trace.input_tokens, trace.facts.block_tokens)
        if blocks is not None and trace.facts.block_tokens is not None
        else None,
        dropped=dict(trace.facts.dropped),
        notes=(*trace.facts.notes, *arrival_notes),
    )
