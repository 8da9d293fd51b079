"""What several processes that share a load can do to it."""

from collections.abc import Callable

import pytest

from orchestrator.domain.fidelity import Fidelity, Verdict
from orchestrator.domain.records import ReplayLog, RequestRecord, WorkerReport
from orchestrator.metrics.fidelity import judge

MakeRecord = Callable[..., RequestRecord]
MakeLog = Callable[..., ReplayLog]
Judge = Callable[..., Fidelity]

MS = 1_000_000
HOUR_NS = 3_600_000_000_000


@pytest.fixture
def judged(record: MakeRecord, log: MakeLog) -> Judge:
    """Judge a sound log of two workers, the second of which is as told; its window begins a second after the start."""
    records = [record(index, intended_ms=1000 + 200 * index) for index in range(40)]

    def judge_it(*, backlog_s: float | None = None, **second: object) -> Fidelity:
        workers = tuple(
            WorkerReport(name=f"worker-{at}", host="a", pid=at, num_requests=20, cpu_ratio=0.1, **changes)
            for at, changes in enumerate(({}, second))
        )
        return judge(log(records, window_ms=(1000, 11_000), workers=workers, backlog_s=backlog_s))

    return judge_it


def test_workers_that_are_all_well_are_counted_and_sound(judged: Judge) -> None:
    fidelity = judged()
    assert (fidelity.verdict, fidelity.workers) == (Verdict.SOUND, 2)
    assert (fidelity.clock_offset_s, fidelity.late_worker_s) == (0, 0)


def test_one_process_has_no_clock_to_compare(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log([record(0)]))
    assert (fidelity.workers, fidelity.clock_offset_s, fidelity.late_worker_s) == (1, None, None)


def test_a_lost_worker_makes_the_measurement_invalid(judged: Judge) -> None:
    fidelity = judged(failure="lost while it was replaying (killed by SIGKILL)")
    assert fidelity.verdict is Verdict.INVALID
    assert "worker-1 on a was lost" in fidelity.reasons[0]
    assert "SIGKILL" in fidelity.reasons[0]


@pytest.mark.parametrize(
    ("late_ms", "verdict"),
    [(5, Verdict.SOUND), (200, Verdict.DEGRADED), (1050, Verdict.DEGRADED), (1200, Verdict.INVALID)],
)
def test_a_worker_that_begins_late_spoils_the_warm_up_or_the_window(
    judged: Judge, late_ms: float, verdict: Verdict
) -> None:
    fidelity = judged(late_ns=round(late_ms * MS))
    assert fidelity.verdict is verdict
    assert fidelity.late_worker_s == pytest.approx(late_ms / 1000)


@pytest.mark.parametrize("offset_ms", [50, -50])
def test_a_clock_that_should_be_ours_and_is_not_degrades(judged: Judge, offset_ms: int) -> None:
    fidelity = judged(clock_offset_ns=offset_ms * MS, clock_error_ns=MS)
    assert fidelity.verdict is Verdict.DEGRADED
    assert fidelity.clock_offset_s == pytest.approx(0.051)


def test_another_machines_clock_counts_by_the_error_of_its_translation(judged: Judge) -> None:
    exact = judged(clock_offset_ns=5 * HOUR_NS, clock_error_ns=MS)
    vague = judged(clock_offset_ns=5 * HOUR_NS, clock_error_ns=8 * MS)
    assert (exact.verdict, exact.clock_offset_s) == (Verdict.SOUND, 0.001)
    assert vague.verdict is Verdict.DEGRADED


@pytest.mark.parametrize(("backlog_s", "verdict"), [(None, Verdict.SOUND), (2.2, Verdict.SOUND), (5, Verdict.DEGRADED)])
def test_records_that_wait_long_for_the_disk_degrade(judged: Judge, backlog_s: float | None, verdict: Verdict) -> None:
    fidelity = judged(backlog_s=backlog_s)
    assert (fidelity.verdict, fidelity.backlog_s) == (verdict, backlog_s)
