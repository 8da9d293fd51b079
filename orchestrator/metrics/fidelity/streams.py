"""Whether tokens came as they were made, or were held back on their way and then came together.

A stream whose chunks come several at a time is no fault by itself: speculation accepts several tokens at once. One
whose every chunk comes at once, long after it was asked for, was kept whole by somebody.
"""

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.records import ClientPath, ReplayLog, RequestRecord
from orchestrator.metrics.fidelity.findings import Finding

TOGETHER_NS = 100_000  # between two chunks: no engine makes 10,000 tokens/s of one stream, one read of a socket does
MIN_CHUNKS = 8  # fewer can come out of one step of speculation
MIN_E2E_NS = 50_000_000  # an answer that took less was not held back for long enough to matter
WHOLE_SPAN_RATIO = 0.1  # of the answer's time: a long stream that was kept takes some time to be handed over, too
WHOLE_DEGRADED_RATIO = 0.5  # of the streams that can tell: a path that buffers does so to all of them
BLOCK = 4096  # streams looked at together: fast, and little memory however long the run
PROXY_TOGETHER_RATIO = 0.5  # through a proxy: more, and most gaps say when it sent, not when the engine did


def bunched_chunk_ratio(issued: Sequence[RequestRecord]) -> float | None:
    """Return the share of chunks, first ones apart, that came within 0.1 ms of the one before in the same stream.

    None where no completed request had two chunks. It counts speculation, buffers on the path and late reading alike.
    """
    streams = [one.chunk_ns for one in issued if one.failure is None and len(one.chunk_ns) > 1]
    total = sum(map(len, streams)) - len(streams)
    blocks = (streams[at : at + BLOCK] for at in range(0, len(streams), BLOCK))
    return sum(map(_count_together, blocks)) / total if total else None


def _count_together(streams: "Sequence[array[int]]") -> int:
    """Count the chunks that came within 0.1 ms of the one before in the same stream."""
    times_ns = np.concatenate(streams)
    is_first = np.zeros(times_ns.size, dtype=np.bool_)
    is_first[np.cumsum([0, *map(len, streams[:-1])])] = True
    return int((~is_first[1:] & (np.diff(times_ns) <= TOGETHER_NS)).sum())


def judge_streams(
    log: ReplayLog, issued: Sequence[RequestRecord], *, bunched_ratio: float | None, is_engine_met: bool
) -> Iterator[Finding]:
    """Find streams that were kept until whole, and a proxy through which most chunks come together.

    `is_engine_met` says that client and engine saw first tokens at the same time, so that whole streams are the
    engine's own way to answer.
    """
    telling = [is_whole for one in issued if (is_whole := _came_whole(one)) is not None]
    whole = sum(telling)
    if whole > WHOLE_DEGRADED_RATIO * len(telling) and not is_engine_met:
        yield Finding(
            Verdict.DEGRADED,
            f"{whole} of {len(telling)} streams came whole at their end: a proxy, the server or late reading kept "
            "them till then, and TTFT is that of the whole answer",
        )
    elif log.path is ClientPath.PROXY and bunched_ratio is not None and bunched_ratio > PROXY_TOGETHER_RATIO:
        yield Finding(
            Verdict.DEGRADED,
            f"{bunched_ratio:.0%} of the chunks came together with the one before: the proxy may hold the stream back",
        )


def _came_whole(record: RequestRecord) -> bool | None:
    """Say whether all chunks came at once, long after they were asked for; None where the stream cannot tell."""
    if record.failure is not None or record.sent_ns is None or len(record.chunk_ns) < MIN_CHUNKS:
        return None
    first_ns, last_ns = record.chunk_ns[0], record.chunk_ns[-1]
    e2e_ns, span_ns = last_ns - record.sent_ns, last_ns - first_ns
    if e2e_ns < MIN_E2E_NS:
        return None
    return span_ns <= min(TOGETHER_NS * (len(record.chunk_ns) - 1), WHOLE_SPAN_RATIO * e2e_ns)
