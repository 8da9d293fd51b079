"""Whether the processes that shared a load did so as one: all there, all in time, on one clock, all written down."""

from collections.abc import Iterator

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.records import ReplayLog, WorkerReport
from orchestrator.metrics.fidelity.findings import Finding
from orchestrator.metrics.fidelity.lags import LAG_DEGRADED_S, LAG_INVALID_S

CLOCK_DEGRADED_S = 0.005  # arrivals of two workers mix up by as much; half of what a late dispatch may be
# A machine's monotonic clock counts from its start, so another machine's is off by hours or days. That is no fault: its
# times were translated, and only the error of the translation counts. Less than this is a clock that should be ours.
OTHER_MACHINE_S = 1.0
# Rows are gathered for two seconds before they are handed to the disk. One that takes two more does not keep up: what
# waits for it grows in memory, and the end of the replay waits for it.
BACKLOG_DEGRADED_S = 4.0


def clock_offset_s(log: ReplayLog) -> float | None:
    """Return by how much a worker's times may be off ours, the largest over the workers, seconds; None: one process."""
    return max(map(_offset_s, log.workers), default=None)


def late_worker_s(log: ReplayLog) -> float | None:
    """Return how long after the common start the last worker began, seconds; None where one process did all."""
    return max((one.late_ns / NS_PER_S for one in log.workers), default=None)


def judge_workers(log: ReplayLog) -> Iterator[Finding]:
    """Find workers that were lost, late, or on another clock, and records that waited long to be written."""
    for one in log.workers:
        yield from _lost(one)
        yield from _late(one, log)
        yield from _apart(one)
    if log.backlog_s is not None and log.backlog_s > BACKLOG_DEGRADED_S:
        yield Finding(
            Verdict.DEGRADED,
            f"a record waited {log.backlog_s:.1f} s to be written, over {BACKLOG_DEGRADED_S:g} s: the disk is too slow",
        )


def _lost(worker: WorkerReport) -> Iterator[Finding]:
    if worker.failure is not None:
        reason = f"load worker {worker.name} on {worker.host} was lost and its share of the load with it"
        yield Finding(Verdict.INVALID, f"{reason}: {worker.failure}")


def _late(worker: WorkerReport, log: ReplayLog) -> Iterator[Finding]:
    late_s = worker.late_ns / NS_PER_S
    if late_s <= LAG_DEGRADED_S:
        return
    into_window_s = (log.started_ns + worker.late_ns - log.window.start_ns) / NS_PER_S
    verdict = Verdict.INVALID if into_window_s > LAG_INVALID_S else Verdict.DEGRADED
    where = "in the window" if into_window_s > 0 else "in the warm-up"
    yield Finding(verdict, f"load worker {worker.name} began {late_s * 1000:.0f} ms after the common start, {where}")


def _apart(worker: WorkerReport) -> Iterator[Finding]:
    offset_s = _offset_s(worker)
    if offset_s > CLOCK_DEGRADED_S:
        yield Finding(
            Verdict.DEGRADED,
            f"the clock of load worker {worker.name} on {worker.host} is {offset_s * 1000:.1f} ms off or not known "
            f"better, over {CLOCK_DEGRADED_S * 1000:g} ms: arrivals of several workers mix up",
        )


def _offset_s(worker: WorkerReport) -> float:
    offset_s, error_s = abs(worker.clock_offset_ns) / NS_PER_S, worker.clock_error_ns / NS_PER_S
    return error_s if offset_s > OTHER_MACHINE_S else offset_s + error_s
