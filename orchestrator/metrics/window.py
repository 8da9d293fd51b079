"""Which requests a measurement counts, what arrived inside its window, and whether the window was steady."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.records import RequestRecord, Window
from orchestrator.metrics import latency
from orchestrator.metrics.trend import kendall_p_value

BATCHES = 10  # few enough that neighbouring batch means are nearly independent, enough for an exact test
MIN_PER_BATCH = 3  # a mean over fewer is one request's noise
FALSE_ALARMS = 0.05  # of a steady window, over both series together


def issued_in(records: Iterable[RequestRecord], window: Window) -> tuple[RequestRecord, ...]:
    """Return the measured requests: those whose intended arrival lies in [start, end), in order of arrival."""
    inside = (one for one in records if window.start_ns <= one.intended_ns < window.end_ns)
    return tuple(sorted(inside, key=lambda one: (one.intended_ns, one.index)))


def sent_in(records: Iterable[RequestRecord], window: Window) -> int:
    """Count the requests that were sent inside the window, whenever they were intended."""
    return sum(one.sent_ns is not None and window.start_ns <= one.sent_ns < window.end_ns for one in records)


def completed_in(records: Iterable[RequestRecord], window: Window) -> int:
    """Count the requests that ended well inside the window, whenever they were issued."""
    return sum(one.failure is None and window.start_ns <= one.end_ns < window.end_ns for one in records)


def drained(issued: Iterable[RequestRecord], window: Window) -> int:
    """Count the measured requests that ended, well or not, after the window."""
    return sum(one.end_ns >= window.end_ns for one in issued)


def output_tokens_in(records: Iterable[RequestRecord], window: Window) -> float:
    """Count the output tokens of completed requests that arrived inside the window, whenever they were issued.

    Where the stream does not tell how many tokens a chunk carried, a request's tokens are shared out evenly over its
    chunks, so the count may be a fraction.
    """
    return sum(
        tokens
        for one in records
        for arrived_ns, tokens in _arrivals(one)
        if window.start_ns <= arrived_ns < window.end_ns
    )


def is_steady(issued: Sequence[RequestRecord]) -> bool | None:
    """Say whether latency showed no trend over the window; None where too few requests completed to tell.

    Mann-Kendall's test on the means of ten consecutive batches of TTFT and of E2E, both from intended arrival. Batch
    means, since requests that queue behind each other are not independent; Bonferroni over the two series keeps false
    alarms at 5 %. "Steady" means that no drift was found, not that there is none.
    Source: Mann (1945), Econometrica 13; Kendall (1975); batch means: Law & Kelton, Simulation Modeling, chapter 9.
    """
    series: tuple[Callable[[RequestRecord], float | None], ...] = (
        latency.ttft_from_intended_s,
        latency.e2e_from_intended_s,
    )
    samples = [[value for one in issued if (value := read(one)) is not None] for read in series]
    if any(len(sample) < BATCHES * MIN_PER_BATCH for sample in samples):
        return None
    return all(trend_p_value(sample) >= FALSE_ALARMS / len(series) for sample in samples)


def trend_p_value(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the two-sided p-value of Mann-Kendall's test on ten batch means; 1 where all are equal."""
    means = [float(batch.mean()) for batch in np.array_split(np.asarray(values, dtype=np.float64), BATCHES)]
    if max(means) == min(means):
        return 1.0
    return kendall_p_value(means)


def _arrivals(record: RequestRecord) -> Iterator[tuple[int, float]]:
    tokens = record.output_tokens
    if tokens is None or not record.chunk_ns:
        return
    carried = record.chunk_tokens
    if carried is None or sum(carried) != tokens:
        share = tokens / len(record.chunk_ns)
        yield from ((arrived_ns, share) for arrived_ns in record.chunk_ns)
    else:
        yield from zip(record.chunk_ns, carried, strict=True)
