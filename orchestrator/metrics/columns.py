"""Request records as arrays: what arrived when, and the gaps between chunks. No formula but those of latency.py."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.records import RequestRecord, Window
from orchestrator.metrics.latency import token_counts_agree

Times = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What happened inside a window, whenever it was issued: times in ns, in no order.

    `tokens` holds the output tokens that came at each of `token_ns`; `requests_answering` counts the completed requests
    that they belong to.
    """

    sent_ns: Times
    completed_ns: Times
    token_ns: Times
    tokens: Floats
    requests_answering: int


def arrivals(records: Iterable[RequestRecord], window: Window) -> Arrivals:
    """Collect sends, completions and output tokens that lie in [start, end), in one pass over the records."""
    sent, completed = [], []
    token_ns, tokens = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for one in records:
        if one.sent_ns is not None and window.start_ns <= one.sent_ns < window.end_ns:
            sent.append(one.sent_ns)
        if one.failure is not None:
            continue
        if window.start_ns <= one.end_ns < window.end_ns:
            completed.append(one.end_ns)
        times = chunk_times(one)
        inside = (times >= window.start_ns) & (times < window.end_ns)
        if inside.any():
            token_ns.append(times[inside])
            tokens.append(_tokens_of_chunks(one)[inside])
    return Arrivals(
        sent_ns=np.array(sent, dtype=np.int64),
        completed_ns=np.array(completed, dtype=np.int64),
        token_ns=np.concatenate(token_ns),
        tokens=np.concatenate(tokens),
        requests_answering=len(token_ns) - 1,
    )


def chunk_times(record: RequestRecord) -> Times:
    """Return the arrivals of a request's chunks, ns; a view where the record holds an array of 64 bits."""
    return np.asarray(record.chunk_ns, dtype=np.int64)


def chunk_gaps_s(record: RequestRecord) -> Floats:
    """Return the times between a completed request's chunks, seconds; empty for a failed one."""
    if record.failure is not None:
        return np.empty(0)
    return np.diff(chunk_times(record)) / NS_PER_S


def itls_s(record: RequestRecord) -> Floats:
    """Return a completed request's inter-token latencies, seconds; empty where there are none or it cannot be known.

    As `latency.itls_s`: a chunk's gap, with that of chunks without a token before it, shared out over its tokens.
    """
    if record.failure is not None or not token_counts_agree(record):
        return np.empty(0)
    if record.chunk_tokens is None:
        is_known = record.output_tokens_client == len(record.chunk_ns)
        return chunk_gaps_s(record) if is_known else np.empty(0)
    carried = np.asarray(record.chunk_tokens, dtype=np.int64)
    if int(carried.sum()) != record.output_tokens_client:
        return np.empty(0)
    times, later = chunk_times(record), carried[1:]
    counted = later > 0
    waited_s = np.diff(np.concatenate((times[:1], times[1:][counted]))) / NS_PER_S
    return np.repeat(waited_s / later[counted], later[counted])


def _tokens_of_chunks(record: RequestRecord) -> Floats:
    """Return how many output tokens each chunk carried; shared out evenly where the stream does not tell."""
    tokens, carried = record.output_tokens or 0, record.chunk_tokens
    if carried is None or sum(carried) != tokens:
        return np.full(len(record.chunk_ns), tokens / len(record.chunk_ns))
    return np.asarray(carried, dtype=np.float64)
