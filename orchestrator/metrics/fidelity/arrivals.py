"""Whether the server was asked what the schedule says and when: nothing kept back, nothing held, nothing dropped.

A server that refuses or is slow is no fault here.
"""

import math
import re
from collections.abc import Iterator, Sequence

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.distribution import Distribution
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord
from orchestrator.metrics.fidelity.findings import Finding
from orchestrator.metrics.fidelity.lags import judge_tail
from orchestrator.metrics.percentiles import distribution

ACHIEVED_DEGRADED_RATIO = 0.95  # below, the engine saw a lighter load than the record says
ACHIEVED_SLACK = 1  # a request that crosses the window's edge is no shortfall
# Between dispatch and send lies one call: tens of microseconds. Whatever waits there waits for a place in the client.
QUEUE_DEGRADED_S = 0.001
# errno of what the client's own machine ran out of: memory, descriptors of all or of the process, ports, buffers.
OWN_LIMITS = re.compile(r"\[Errno (?:12|23|24|98|99|105)\]")
OWN_LIMITS_INVALID_RATIO = 0.01  # as many as P99 would show; they fail for no fault of the server


def achieved_to_offered_ratio(log: ReplayLog, issued: Sequence[RequestRecord], *, num_sent: int) -> float | None:
    """Return requests sent in the window over those issued in it; None in closed loop and where none was issued.

    The schedule's own realised count, not rate times length: a Poisson schedule of 36 arrivals differs from its
    nominal rate by 17 % one time in three, and that is no fault of the client.
    """
    return num_sent / len(issued) if isinstance(log.load, OpenLoad) and issued else None


def arrival_error_s(log: ReplayLog, issued: Sequence[RequestRecord]) -> Distribution | None:
    """Return the distance of each realised send from its intended arrival, seconds; None in closed loop."""
    if not isinstance(log.load, OpenLoad):
        return None
    return distribution(abs(one.sent_ns - one.intended_ns) / NS_PER_S for one in issued if one.sent_ns is not None)


def queue_s(issued: Sequence[RequestRecord]) -> Distribution:
    """Return waiting inside the client between dispatch and send, seconds, without the time of connecting."""
    return distribution(
        max(0, one.sent_ns - one.dispatched_ns - one.connect_ns) / NS_PER_S for one in issued if one.sent_ns is not None
    )


def connecting_s(issued: Sequence[RequestRecord]) -> Distribution:
    """Return the time of connecting of each request that was sent, seconds; 0 where a connection was at hand."""
    return distribution(one.connect_ns / NS_PER_S for one in issued if one.sent_ns is not None)


def judge_arrivals(log: ReplayLog, issued: Sequence[RequestRecord], *, num_sent: int) -> Iterator[Finding]:
    """Find requests that were kept back, held inside the client, delayed by connecting, or not to be sent at all.

    `num_sent` counts requests sent in the window, whenever they were intended.
    """
    if not issued:
        yield Finding(Verdict.INVALID, "no request was issued in the window: lengthen it or raise the load")
        return
    yield from judge_tail(
        "waiting between dispatch and send",
        queue_s(issued),
        degraded_s=QUEUE_DEGRADED_S,
        why="requests queued inside the client, as behind a limit on connections",
    )
    yield from judge_tail(
        "connecting",
        connecting_s(issued),
        invalid_s=math.inf,
        why="requests waited for connections made in the window: too few were open, or the server was slow to accept",
    )
    if isinstance(log.load, OpenLoad):
        yield from _shortfall(issued, num_sent)
    yield from _own_limits(issued)


def _shortfall(issued: Sequence[RequestRecord], num_sent: int) -> Iterator[Finding]:
    num_tried = num_sent + sum(_was_refused(one) for one in issued)
    if num_tried < ACHIEVED_DEGRADED_RATIO * len(issued) and len(issued) - num_tried > ACHIEVED_SLACK:
        yield Finding(Verdict.DEGRADED, f"{num_sent} of {len(issued)} scheduled requests were sent in the window")


def _was_refused(record: RequestRecord) -> bool:
    """Say whether the server did not take the request: asked in time, so nothing was kept back."""
    return record.sent_ns is None and record.failure is RequestFailure.REFUSED and not _lacked(record)


def _own_limits(issued: Sequence[RequestRecord]) -> Iterator[Finding]:
    lacking = [one for one in issued if _lacked(one)]
    if lacking:
        yield Finding(
            Verdict.INVALID if len(lacking) > OWN_LIMITS_INVALID_RATIO * len(issued) else Verdict.DEGRADED,
            f"{len(lacking)} of {len(issued)} requests failed for want of what the client's machine has too few of: "
            f"{lacking[0].failure_detail}",
        )


def _lacked(record: RequestRecord) -> bool:
    return record.failure is RequestFailure.REFUSED and bool(OWN_LIMITS.search(record.failure_detail or ""))
