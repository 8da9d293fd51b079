from collections.abc import Callable

import pytest

from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.domain.slo import Slo
from orchestrator.metrics import slo as slos

MakeRecord = Callable[..., RequestRecord]

MS = 1_000_000


def test_a_request_meets_an_slo_only_if_it_keeps_every_bound(record: MakeRecord) -> None:
    one = record(chunks_ms=(50, 60, 90))  # TTFT 50 ms, TPOT 20 ms, E2E 90 ms
    assert slos.meets(one, Slo(ttft_s=0.050, tpot_s=0.020, e2e_s=0.090))
    assert not slos.meets(one, Slo(ttft_s=0.049, tpot_s=0.020, e2e_s=0.090))
    assert not slos.meets(one, Slo(ttft_s=0.050, tpot_s=0.019, e2e_s=0.090))
    assert not slos.meets(one, Slo(ttft_s=0.050, tpot_s=0.020, e2e_s=0.089))


def test_waiting_before_sending_counts_against_the_slo(record: MakeRecord) -> None:
    waited = record(chunks_ms=(50, 60), sent_ns=45 * MS, dispatched_ns=45 * MS)
    assert not slos.meets(waited, Slo(ttft_s=0.040))


def test_a_one_token_output_passes_no_tpot_bound_and_no_other_bound_minds_it(record: MakeRecord) -> None:
    one_token = record(chunks_ms=(50,))
    assert not slos.meets(one_token, Slo(tpot_s=10.0))
    assert slos.meets(one_token, Slo(ttft_s=0.1))


def test_failures_are_misses_in_the_denominator(record: MakeRecord) -> None:
    issued = [record(0), record(1), record(2, failure=RequestFailure.TIMEOUT), record(3, chunks_ms=(900, 910))]
    bounds = Slo(ttft_s=0.1)
    assert slos.slo_attainment(issued, bounds) == 0.5
    assert slos.goodput_rps(issued, bounds, window_s=4.0) == 0.5


@pytest.mark.parametrize("failure", list(RequestFailure))
def test_no_kind_of_failure_passes(record: MakeRecord, failure: RequestFailure) -> None:
    assert not slos.meets(record(failure=failure), Slo(ttft_s=100.0))


def test_nothing_issued_is_neither_a_full_nor_an_empty_promise() -> None:
    assert slos.slo_attainment([], Slo(ttft_s=0.1)) is None
    assert slos.goodput_rps([], Slo(ttft_s=0.1), window_s=1.0) is None
