"""The latencies of one request, in seconds, from its record. A failed request has none: each is None or empty."""

from itertools import pairwise

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.records import RequestRecord


def dispatch_lag_s(record: RequestRecord) -> float:
    """Return how late the client handed the request on, seconds after its intended arrival, never below zero."""
    return max(0, record.dispatched_ns - record.intended_ns) / NS_PER_S


def ttft_s(record: RequestRecord) -> float | None:
    """Return time to first token: from send to the first chunk with content, seconds."""
    return _span_s(record, record.sent_ns, record.first_ns)


def ttft_from_intended_s(record: RequestRecord) -> float | None:
    """Return time to first token as the user feels it: from intended arrival, seconds."""
    return _span_s(record, record.intended_ns, record.first_ns)


def e2e_s(record: RequestRecord) -> float | None:
    """Return end-to-end latency: from send to the last token, seconds."""
    return _span_s(record, record.sent_ns, record.last_ns)


def e2e_from_intended_s(record: RequestRecord) -> float | None:
    """Return end-to-end latency as the user feels it: from intended arrival to the last token, seconds."""
    return _span_s(record, record.intended_ns, record.last_ns)


def tpot_s(record: RequestRecord) -> float | None:
    """Return time per output token after the first: (last - first) / (n - 1), seconds.

    None where fewer than two tokens were put out, and where all came at one moment, in one chunk or in chunks of one
    segment: no time was seen to pass.
    """
    tokens = record.output_tokens
    if tokens is None or tokens < 2 or record.first_ns == record.last_ns:  # noqa: PLR2004 - a gap has two ends
        return None
    return (record.chunk_ns[-1] - record.chunk_ns[0]) / NS_PER_S / (tokens - 1)


def chunk_gaps_s(record: RequestRecord) -> list[float]:
    """List the times between chunks, seconds; the wait for the first chunk is TTFT and no gap."""
    if record.failure is not None:
        return []
    return [(later - earlier) / NS_PER_S for earlier, later in pairwise(record.chunk_ns)]


def itls_s(record: RequestRecord) -> list[float] | None:
    """List inter-token latencies, seconds: each chunk's gap shared out evenly over the chunk's tokens.

    Tokens of the first chunk have no gap. None where it is not known how many tokens each chunk carried: the client
    cannot tell, or the server counts otherwise.
    """
    carried = list(record.chunk_tokens) if record.chunk_tokens is not None else [1] * len(record.chunk_ns)
    if record.failure is not None or sum(carried) != record.output_tokens_client or not token_counts_agree(record):
        return None
    itls: list[float] = []
    waited_s = 0.0
    for gap_s, tokens in zip(chunk_gaps_s(record), carried[1:], strict=True):
        waited_s += gap_s
        if tokens > 0:
            itls.extend([waited_s / tokens] * tokens)
            waited_s = 0.0
    return itls


def token_counts_agree(record: RequestRecord) -> bool:
    """Say whether client and server count the same output tokens; true where the server gives no count.

    One more on the server's side is agreement where the model stopped by itself: its end-of-sequence token is counted
    and carries no text.
    """
    if record.output_tokens_server is None:
        return True
    hidden = 1 if record.finish_reason == "stop" else 0
    return record.output_tokens_client <= record.output_tokens_server <= record.output_tokens_client + hidden


def _span_s(record: RequestRecord, start_ns: int | None, end_ns: int | None) -> float | None:
    if record.failure is not None or start_ns is None or end_ns is None:
        return None
    return (end_ns - start_ns) / NS_PER_S
