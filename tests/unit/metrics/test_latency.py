from array import array
from collections.abc import Callable

import pytest

from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.metrics import latency

MakeRecord = Callable[..., RequestRecord]

MS = 1_000_000


def test_latencies_from_send_and_from_intended_arrival_differ_by_the_wait_before_sending(record: MakeRecord) -> None:
    late = record(chunks_ms=(50, 60, 90), dispatched_ns=5 * MS, sent_ns=10 * MS)
    assert latency.dispatch_lag_s(late) == pytest.approx(0.005)
    assert latency.ttft_s(late) == pytest.approx(0.040)
    assert latency.ttft_from_intended_s(late) == pytest.approx(0.050)
    assert latency.e2e_s(late) == pytest.approx(0.080)
    assert latency.e2e_from_intended_s(late) == pytest.approx(0.090)


def test_tpot_leaves_the_first_token_out(record: MakeRecord) -> None:
    assert latency.tpot_s(record(chunks_ms=(50, 60, 90))) == pytest.approx(0.020)


def test_end_to_end_is_ttft_and_tpot_put_together(record: MakeRecord) -> None:
    one = record(chunks_ms=(50, 61, 72, 99))
    ttft_s, tpot_s = latency.ttft_s(one), latency.tpot_s(one)
    assert ttft_s is not None
    assert tpot_s is not None
    assert latency.e2e_s(one) == pytest.approx(ttft_s + 3 * tpot_s)


def test_a_one_token_output_has_no_tpot(record: MakeRecord) -> None:
    assert latency.tpot_s(record(chunks_ms=(50,))) is None


def test_an_output_that_came_in_one_chunk_has_no_tpot_rather_than_zero(record: MakeRecord) -> None:
    assert latency.tpot_s(record(chunks_ms=(50,), output_tokens_server=8)) is None


def test_chunks_that_came_at_one_moment_have_no_tpot_rather_than_zero(record: MakeRecord) -> None:
    assert latency.tpot_s(record(chunks_ms=(50, 50, 50))) is None


def test_a_failed_request_has_no_latency_even_if_tokens_came(record: MakeRecord) -> None:
    cut = record(failure=RequestFailure.CUT_STREAM)
    reads = (latency.ttft_s, latency.e2e_s, latency.tpot_s, latency.ttft_from_intended_s, latency.e2e_from_intended_s)
    assert [read(cut) for read in reads] == [None] * 5
    assert latency.chunk_gaps_s(cut) == []
    assert latency.itls_s(cut) is None


def test_ttft_does_not_leak_into_the_gaps(record: MakeRecord) -> None:
    one = record(chunks_ms=(500, 510, 530))
    assert latency.chunk_gaps_s(one) == pytest.approx([0.010, 0.020])
    assert latency.itls_s(one) == pytest.approx([0.010, 0.020])


def test_a_chunk_of_several_tokens_shares_its_gap_out(record: MakeRecord) -> None:
    one = record(
        chunks_ms=(50, 80, 90), output_tokens_server=6, output_tokens_client=6, chunk_tokens=array("q", [2, 3, 1])
    )
    assert latency.itls_s(one) == pytest.approx([0.010, 0.010, 0.010, 0.010])
    assert latency.chunk_gaps_s(one) == pytest.approx([0.030, 0.010])


def test_a_chunk_without_a_token_hands_its_wait_to_the_next(record: MakeRecord) -> None:
    one = record(
        chunks_ms=(50, 60, 90), output_tokens_server=2, output_tokens_client=2, chunk_tokens=array("q", [1, 0, 1])
    )
    assert latency.itls_s(one) == pytest.approx([0.040])


def test_itl_is_absent_where_the_server_counts_more_tokens_than_chunks(record: MakeRecord) -> None:
    assert latency.itls_s(record(output_tokens_server=7)) is None


def test_itl_is_absent_where_the_client_counts_ids_but_not_by_chunk(record: MakeRecord) -> None:
    assert latency.itls_s(record(output_tokens_server=7, output_tokens_client=7)) is None


@pytest.mark.parametrize(
    ("server", "reason", "agree"),
    [(3, "length", True), (4, "stop", True), (4, "length", False), (5, "stop", False), (2, "stop", False)],
)
def test_only_a_hidden_end_of_sequence_token_is_forgiven(
    record: MakeRecord, server: int, reason: str, *, agree: bool
) -> None:
    assert latency.token_counts_agree(record(output_tokens_server=server, finish_reason=reason)) is agree
