from array import array
from collections.abc import Callable

import pytest

from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.load import ClosedLoad
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.metrics.fidelity import judge

MakeRecord = Callable[..., RequestRecord]
MakeLog = Callable[..., ReplayLog]

MS = 1_000_000


def _records(record: MakeRecord, count: int = 40, **changes: object) -> list[RequestRecord]:
    return [record(index, intended_ms=200 * index, **changes) for index in range(count)]


def _late(record: MakeRecord, *, count: int, late: int, by_ms: float) -> list[RequestRecord]:
    lags = [by_ms if index < late else 0 for index in range(count)]
    return [
        record(index, intended_ms=20 * index, dispatched_ns=(20 * index + lag) * MS, sent_ns=(20 * index + lag) * MS)
        for index, lag in enumerate(lags)
    ]


def test_a_punctual_client_is_sound_and_gives_no_reason(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log(_records(record)))
    assert (fidelity.verdict, fidelity.reasons) == (Verdict.SOUND, ())
    assert fidelity.achieved_to_offered_ratio == 1.0
    assert fidelity.token_count_mismatch_ratio == 0.0


@pytest.mark.parametrize(("by_ms", "verdict"), [(9, Verdict.SOUND), (20, Verdict.DEGRADED), (150, Verdict.INVALID)])
def test_dispatch_lag_is_judged_at_p99_where_the_sample_carries_it(
    record: MakeRecord, log: MakeLog, by_ms: float, verdict: Verdict
) -> None:
    fidelity = judge(log(_late(record, count=400, late=8, by_ms=by_ms)))
    assert fidelity.verdict is verdict
    assert fidelity.dispatch_lag_max_s == pytest.approx(by_ms / 1000)
    assert verdict is Verdict.SOUND or "P99 of dispatch lag" in fidelity.reasons[0]


def test_a_thin_sample_is_judged_at_the_percentile_it_reports(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_late(record, count=40, late=3, by_ms=150))).verdict is Verdict.SOUND
    assert "P90 of dispatch lag" in judge(log(_late(record, count=40, late=6, by_ms=150))).reasons[0]


def test_a_client_that_reads_late_is_found_by_its_loop_lag(record: MakeRecord, log: MakeLog) -> None:
    lag = array("q", [0] * 380 + [15 * MS] * 20)
    fidelity = judge(log(_records(record), loop_lag_ns=lag))
    assert fidelity.verdict is Verdict.DEGRADED
    assert "event-loop lag" in fidelity.reasons[0]


def test_an_unsampled_loop_is_not_sound(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_records(record), loop_lag_ns=array("q"))).verdict is Verdict.DEGRADED


def test_nothing_issued_is_invalid(log: MakeLog) -> None:
    fidelity = judge(log([]))
    assert fidelity.verdict is Verdict.INVALID
    assert fidelity.achieved_to_offered_ratio is None


def test_a_poisson_window_far_from_its_nominal_rate_is_no_fault_of_the_client(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_records(record, count=25))).verdict is Verdict.SOUND  # 25 where rate times length is 100


def test_requests_that_were_never_sent_are_a_shortfall(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record, count=36) + [
        record(36 + index, intended_ms=7300 + index, sent_ns=None, chunks_ms=(), failure="cancelled")
        for index in range(4)
    ]
    fidelity = judge(log(records))
    assert fidelity.achieved_to_offered_ratio == 0.9
    assert fidelity.reasons == ("36 of 40 scheduled requests were sent in the window",)


def test_one_request_over_the_edge_of_a_small_window_is_no_shortfall(record: MakeRecord, log: MakeLog) -> None:
    edge = record(9, intended_ms=9999.9, sent_ns=10_001 * MS, dispatched_ns=10_001 * MS)
    assert judge(log([*_records(record, count=9), edge])).verdict is Verdict.SOUND


def test_a_closed_loop_has_no_achieved_to_offered_ratio(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_records(record), load=ClosedLoad(users=4))).achieved_to_offered_ratio is None


def test_a_busy_client_is_degraded_and_an_unmeasured_one_is_not_accused(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_records(record), client_cpu_ratio=0.95)).verdict is Verdict.DEGRADED
    assert judge(log(_records(record), client_cpu_ratio=None)).verdict is Verdict.SOUND


def test_fewer_chunks_than_tokens_is_told_but_spoils_nothing(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log(_records(record, output_tokens_server=8)))
    assert (fidelity.verdict, fidelity.token_count_mismatch_ratio) == (Verdict.SOUND, 1.0)


def test_more_chunks_than_tokens_cannot_be_and_degrades(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_records(record, output_tokens_server=2))).verdict is Verdict.DEGRADED


def test_token_ids_that_contradict_the_usage_degrade(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record, output_tokens_server=5, chunk_tokens=array("q", [1, 1, 1]))
    assert judge(log(records)).verdict is Verdict.DEGRADED


def test_without_server_counts_the_mismatch_is_unknown(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_records(record, output_tokens_server=None))).token_count_mismatch_ratio is None


def test_what_others_saw_degrades_too(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log(_records(record)), degraded_by=("device 0 was throttled",))
    assert (fidelity.verdict, fidelity.reasons) == (Verdict.DEGRADED, ("device 0 was throttled",))
