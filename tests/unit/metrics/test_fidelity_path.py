"""What lies between dispatch and engine: waiting in the client, connecting, the path, proxies."""

from array import array
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from orchestrator.domain.fidelity import Fidelity, Verdict
from orchestrator.domain.load import ClosedLoad
from orchestrator.domain.records import ClientPath, ReplayLog, RequestFailure, RequestRecord
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.metrics.fidelity import judge

MakeRecord = Callable[..., RequestRecord]
MakeLog = Callable[..., ReplayLog]

MS = 1_000_000
AT_ONCE = (*[200.0] * 8,)
IN_STEPS = (*[30.0] * 3, *[60.0] * 3, *[90.0] * 3)


def _records(record: MakeRecord, count: int = 40, **changes: object) -> list[RequestRecord]:
    return [record(index, intended_ms=200 * index, **changes) for index in range(count)]


def _sent_later(record: MakeRecord, by_ms: float, *, count: int = 40, **changes: object) -> list[RequestRecord]:
    return [
        record(index, intended_ms=200 * index, sent_ns=round((200 * index + by_ms) * MS), **changes)
        for index in range(count)
    ]


def _engine(ttfts_ms: Sequence[tuple[float, float]], *, every_ms: float = 500) -> Telemetry:
    """Scrape a histogram of (time of the first token, TTFT); milliseconds."""
    times_ms = np.arange(0, 11_000, every_ms)
    seen = [[ttft for at, ttft in ttfts_ms if at <= time_ms] for time_ms in times_ms]
    times_ns = np.round(times_ms * MS).astype(np.int64)
    sums = np.array([sum(one) / 1000 for one in seen])
    counts = np.array([float(len(one)) for one in seen])
    return Telemetry(
        (
            Series("engine_ttft.sum", "seconds", times_ns, sums),
            Series("engine_ttft.count", "observations", times_ns, counts),
        ),
        every_ms / 1000,
    )


def _engine_of(records: Sequence[RequestRecord], *, ttft_ms: float) -> Telemetry:
    return _engine([(one.chunk_ns[0] / MS, ttft_ms) for one in records])


def _reason(fidelity: Fidelity) -> str:
    (reason,) = fidelity.reasons
    return reason


@pytest.mark.parametrize(("by_ms", "verdict"), [(0.5, Verdict.SOUND), (5, Verdict.DEGRADED), (150, Verdict.INVALID)])
def test_what_waits_between_dispatch_and_send_queued_in_the_client(
    record: MakeRecord, log: MakeLog, by_ms: float, verdict: Verdict
) -> None:
    fidelity = judge(log(_sent_later(record, by_ms)))
    assert fidelity.verdict is verdict
    assert fidelity.queue_s is not None
    assert fidelity.queue_s.p50 == pytest.approx(by_ms / 1000)
    assert verdict is Verdict.SOUND or "queued inside the client" in fidelity.reasons[0]


def test_the_queue_counts_in_a_closed_loop_too(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log(_sent_later(record, 5), load=ClosedLoad(users=4)))
    assert fidelity.verdict is Verdict.DEGRADED
    assert fidelity.arrival_error_s is None


def test_connecting_is_no_queue_but_a_long_one_degrades(record: MakeRecord, log: MakeLog) -> None:
    quick = judge(log(_sent_later(record, 5, connect_ns=5 * MS)))
    slow = judge(log(_sent_later(record, 40, connect_ns=40 * MS)))
    assert (quick.verdict, slow.verdict) == (Verdict.SOUND, Verdict.DEGRADED)
    assert "connections made in the window" in _reason(slow)
    assert slow.queue_s is not None
    assert slow.queue_s.p90 == 0


def test_a_server_slow_to_accept_is_never_the_clients_invalid_run(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_sent_later(record, 1000, connect_ns=1000 * MS))).verdict is Verdict.DEGRADED


def test_the_arrival_error_holds_all_that_delayed_a_send(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log(_late(record)))
    assert fidelity.arrival_error_s is not None
    assert fidelity.arrival_error_s.p50 == pytest.approx(0.007)


def _late(record: MakeRecord) -> list[RequestRecord]:
    return [
        record(
            index,
            intended_ms=200 * index,
            dispatched_ns=(200 * index + 2) * MS,
            sent_ns=(200 * index + 7) * MS,
            connect_ns=5 * MS,
        )
        for index in range(40)
    ]


def test_refused_requests_are_the_servers_and_no_shortfall(record: MakeRecord, log: MakeLog) -> None:
    refused = {
        "sent_ns": None,
        "chunks_ms": (),
        "failure": RequestFailure.REFUSED,
        "failure_detail": "could not connect: [Errno 111] Connection refused",
    }
    assert judge(log(_records(record, **refused))).verdict is Verdict.SOUND


@pytest.mark.parametrize(("lacking", "verdict"), [(1, Verdict.DEGRADED), (40, Verdict.INVALID)])
def test_requests_that_lacked_a_port_are_the_clients_fault(
    record: MakeRecord, log: MakeLog, lacking: int, verdict: Verdict
) -> None:
    detail = "could not connect: [Errno 99] Cannot assign requested address"
    failed = [
        record(index, intended_ms=20 * index, sent_ns=None, failure=RequestFailure.REFUSED, failure_detail=detail)
        for index in range(lacking)
    ]
    fidelity = judge(log([*failed, *(record(200 + at, intended_ms=2000 + 20 * at) for at in range(160))]))
    assert fidelity.verdict is verdict
    assert any("too few of" in reason for reason in fidelity.reasons)


def test_requests_that_left_before_their_time_tell_of_two_clocks(record: MakeRecord, log: MakeLog) -> None:
    early = [
        record(index, intended_ms=200 * index, dispatched_ns=(200 * index - 50) * MS, sent_ns=(200 * index - 50) * MS)
        for index in range(1, 40)
    ]
    fidelity = judge(log(early))
    assert fidelity.verdict is Verdict.DEGRADED
    assert "before their time, by up to 50.0 ms" in _reason(fidelity)


def test_a_path_that_takes_longer_than_a_sound_one_degrades(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record, chunks_ms=(80, 90, 100))
    fidelity = judge(log(records), telemetry=_engine_of(records, ttft_ms=20))
    assert fidelity.verdict is Verdict.DEGRADED
    assert fidelity.engine_ttft_difference_s == pytest.approx(0.06)
    assert "80.0 ms against the engine's own 20.0 ms" in _reason(fidelity)


def test_a_first_token_seen_before_the_engine_had_one_degrades(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record, chunks_ms=(5, 90, 100))
    fidelity = judge(log(records), telemetry=_engine_of(records, ttft_ms=90))
    assert "was none" in _reason(fidelity)


def test_what_a_proxy_of_serve_adds_is_sound(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record, chunks_ms=(54, 60, 70))
    fidelity = judge(log(records), telemetry=_engine_of(records, ttft_ms=40))
    assert fidelity.verdict is Verdict.SOUND
    assert fidelity.engine_ttft_difference_s == pytest.approx(0.014)


def test_an_engine_that_others_use_is_not_compared(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record, chunks_ms=(80, 90, 100))
    ours = [(one.chunk_ns[0] / MS, 20.0) for one in records]
    others = [(100 * at, 500.0) for at in range(60)]
    fidelity = judge(log(records), telemetry=_engine([*ours, *others]))
    assert (fidelity.verdict, fidelity.engine_ttft_difference_s) == (Verdict.SOUND, None)


def test_one_long_request_at_the_edge_does_not_pass_for_the_path(record: MakeRecord, log: MakeLog) -> None:
    records = [*_records(record, count=20), record(20, intended_ms=4000, chunks_ms=(5400, 5410))]
    engine = _engine([(one.chunk_ns[0] / MS, (one.chunk_ns[0] - one.sent_ns) / MS) for one in records[:20]])
    assert judge(log(records), telemetry=engine).engine_ttft_difference_s is None


@pytest.mark.parametrize("count", [0, 5])
def test_too_few_first_tokens_are_not_compared(record: MakeRecord, log: MakeLog, count: int) -> None:
    records = _records(record, count=count)
    assert judge(log(records), telemetry=_engine_of(records, ttft_ms=1)).engine_ttft_difference_s is None


def test_an_engine_that_began_anew_is_not_compared(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record)
    engine = _engine_of(records, ttft_ms=1)
    counts = engine.series[1]
    fallen = Series(counts.name, counts.unit, counts.times_ns, np.where(counts.times_ns > 5e9, 0.0, counts.values))
    telemetry = Telemetry((engine.series[0], fallen), engine.interval_s)
    assert judge(log(records), telemetry=telemetry).engine_ttft_difference_s is None


def test_an_engine_without_a_histogram_is_not_compared(record: MakeRecord, log: MakeLog) -> None:
    assert judge(log(_records(record)), telemetry=Telemetry((), 0.2)).engine_ttft_difference_s is None


def test_streams_that_come_whole_long_after_they_were_asked_for_were_kept(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log(_records(record, chunks_ms=AT_ONCE)))
    assert fidelity.verdict is Verdict.DEGRADED
    assert fidelity.bunched_chunk_ratio == 1.0
    assert "40 of 40 streams came whole" in _reason(fidelity)


def test_an_engine_that_says_the_same_of_whole_streams_answers_so_itself(record: MakeRecord, log: MakeLog) -> None:
    records = _records(record, chunks_ms=AT_ONCE)
    assert judge(log(records), telemetry=_engine_of(records, ttft_ms=199)).verdict is Verdict.SOUND


@pytest.mark.parametrize("chunks_ms", [IN_STEPS, (200.0,) * 4, (20.0,) * 8, tuple(200 + 0.2 * at for at in range(16))])
def test_speculation_short_answers_and_fast_ones_are_no_buffers(
    record: MakeRecord, log: MakeLog, chunks_ms: tuple[float, ...]
) -> None:
    assert judge(log(_records(record, chunks_ms=chunks_ms))).verdict is Verdict.SOUND


def test_failed_streams_tell_nothing_of_buffers(record: MakeRecord, log: MakeLog) -> None:
    failed = _records(record, chunks_ms=AT_ONCE, failure=RequestFailure.CUT_STREAM)
    assert judge(log(failed)).verdict is Verdict.SOUND


def test_a_proxy_through_which_chunks_come_together_degrades(record: MakeRecord, log: MakeLog) -> None:
    through = judge(log(_records(record, chunks_ms=IN_STEPS), path=ClientPath.PROXY))
    assert through.path is ClientPath.PROXY
    assert "75% of the chunks came together" in _reason(through)
    assert judge(log(_records(record), path=ClientPath.PROXY)).verdict is Verdict.SOUND


def test_an_encrypted_path_is_named_and_no_fault(record: MakeRecord, log: MakeLog) -> None:
    fidelity = judge(log(_records(record), path=ClientPath.TLS))
    assert (fidelity.verdict, fidelity.path) == (Verdict.SOUND, ClientPath.TLS)


def test_a_client_that_shares_its_interpreter_with_a_busy_thread_is_late_at_the_median(
    record: MakeRecord, log: MakeLog
) -> None:
    fidelity = judge(log(_records(record), loop_lag_ns=array("q", [5 * MS] * 400)))
    assert fidelity.verdict is Verdict.DEGRADED
    assert "P50 of event-loop lag is 5.0 ms" in _reason(fidelity)
    assert fidelity.loop_lag_max_s == 0.005
