from array import array
from collections.abc import Callable

import pytest

from orchestrator.domain.records import RequestFailure, RequestRecord, Window
from orchestrator.metrics import columns, latency
from orchestrator.metrics.window import completed_in, output_tokens_in, sent_in

MakeRecord = Callable[..., RequestRecord]
MS = 1_000_000


@pytest.fixture
def every_kind(record: MakeRecord) -> list[RequestRecord]:
    five = {"output_tokens_server": 5, "output_tokens_client": 5}
    return [
        record(0),
        record(1, intended_ms=20, chunks_ms=()),
        record(2, intended_ms=30, failure=RequestFailure.CUT_STREAM),
        record(3, intended_ms=40, sent_ns=None),
        record(4, chunks_ms=(10, 20, 30, 40), chunk_tokens=array("q", [0, 2, 0, 3]), **five),
        record(5, chunks_ms=(10, 20, 30), chunk_tokens=array("q", [1, 1, 1]), **five),
        record(6, output_tokens_server=7),
        record(7, output_tokens_server=4, finish_reason="stop"),
        record(8, chunks_ms=(50,)),
        record(9, output_tokens_server=None),
        record(10, intended_ms=-30),
    ]


def test_gaps_are_those_of_the_formulas(every_kind: list[RequestRecord]) -> None:
    for one in every_kind:
        assert columns.chunk_gaps_s(one).tolist() == pytest.approx(latency.chunk_gaps_s(one)), one.index
        assert columns.itls_s(one).tolist() == pytest.approx(latency.itls_s(one) or []), one.index


def test_counts_are_those_of_the_formulas(every_kind: list[RequestRecord]) -> None:
    window = Window(15 * MS, 65 * MS)
    seen = columns.arrivals(iter(every_kind), window)
    assert seen.sent_ns.size == sent_in(every_kind, window)
    assert seen.completed_ns.size == completed_in(every_kind, window)
    assert seen.tokens.sum() == pytest.approx(output_tokens_in(every_kind, window))
    assert seen.requests_answering == 8
