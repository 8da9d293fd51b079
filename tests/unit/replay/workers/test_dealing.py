from array import array
from collections.abc import Iterator

import pytest

from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.replay import PreparedRequest
from orchestrator.replay.record_rows import INDEX, to_record, to_row
from orchestrator.replay.workers.dealing import CREDIT, Dealer
from orchestrator.replay.workers.member import Member
from orchestrator.replay.workers.merging import LOST, missing_rows

S = 1_000_000_000


def members(*loads: OfferedLoad) -> list[Member]:
    return [Member(f"worker-{at}", load, lambda _: None) for at, load in enumerate(loads)]


def request(index: int, offset_ns: int) -> PreparedRequest:
    return PreparedRequest(index, offset_ns, b"{}", 4, 2)


def deal_all(dealer: Dealer, until_ns: int) -> None:
    while dealer.deal(until_ns):
        pass


def given(member: Member) -> list[int]:
    return list(member.outstanding)


def test_an_open_loop_deals_in_turn_by_time_and_no_further_than_it_is_asked() -> None:
    two = members(OpenLoad(rate_rps=1), OpenLoad(rate_rps=1))
    shuffled = [request(at, at * S) for at in (3, 0, 2, 1, 5, 4)]
    dealer = Dealer(shuffled, two, end_ns=5 * S, is_open=True)
    deal_all(dealer, 2 * S)
    assert [given(one) for one in two] == [[0, 2], [1]]
    assert not dealer.is_done
    deal_all(dealer, 60 * S)
    assert [given(one) for one in two] == [[0, 2, 4], [1, 3]], "what is due at the window's end is never issued"
    assert dealer.is_done


def test_requests_are_made_only_as_far_ahead_as_they_are_dealt() -> None:
    made = []

    def endless() -> Iterator[PreparedRequest]:
        at = 0
        while True:
            made.append(at)
            yield request(at, at * S)
            at += 1

    dealer = Dealer(endless(), members(OpenLoad(rate_rps=1)), end_ns=10**6 * S, is_open=True)
    deal_all(dealer, 100 * S)
    assert len(made) == 102


def test_times_that_go_back_are_refused() -> None:
    dealer = Dealer(iter([request(0, S), request(1, 0)]), members(OpenLoad(rate_rps=1)), end_ns=9 * S, is_open=True)
    with pytest.raises(ValueError, match="request 1 is due at 0 ns, before"):
        deal_all(dealer, 9 * S)


def test_a_closed_loop_deals_by_need_and_again_when_answers_came() -> None:
    two = members(ClosedLoad(users=2), ClosedLoad(users=1))
    dealer = Dealer((request(at, 0) for at in range(10**6)), two, end_ns=S, is_open=False)
    deal_all(dealer, 0)
    assert [len(one.outstanding) for one in two] == [CREDIT + 4, CREDIT + 2]
    for index in given(two[1])[:100]:
        answer(two[1], index)
    deal_all(dealer, 0)
    assert [len(one.outstanding) for one in two] == [CREDIT + 4, CREDIT + 2]
    assert not set(given(two[0])) & set(given(two[1]))


def test_what_a_lost_worker_took_along_is_there_as_cancelled() -> None:
    [one] = members(OpenLoad(rate_rps=1))
    one.give([request(at, at * S) for at in range(6)])
    answer(one, 1)
    lost = [to_record(row) for row in missing_rows(one, LOST, start_ns=100 * S, end_ns=104 * S, now_ns=102 * S)]
    assert [(record.index, record.intended_ns // S, record.dispatched_ns // S) for record in lost] == [
        (0, 100, 102),
        (2, 102, 102),
        (3, 103, 103),
    ]
    assert {(record.failure, record.failure_detail, record.sent_ns) for record in lost} == {
        (RequestFailure.CANCELLED, "load worker lost", None)
    }


def test_in_a_closed_loop_as_many_are_lost_as_the_worker_had_users() -> None:
    [one] = members(ClosedLoad(users=3))
    one.give([request(at, 0) for at in range(50)])
    answer(one, 0)
    rows = list(missing_rows(one, LOST, start_ns=0, end_ns=9 * S, now_ns=2 * S))
    assert [row[INDEX] for row in rows] == [1, 2, 3]


def test_a_worker_that_began_late_says_so() -> None:
    [one] = members(OpenLoad(rate_rps=1))
    one.give([request(5, 3 * S), request(6, 4 * S)])
    answer(one, 6, dispatched_ns=104 * S + S // 2)
    answer(one, 5, dispatched_ns=104 * S)
    assert one.report(100 * S).late_ns == S


def answer(member: Member, index: int, dispatched_ns: int = 0) -> None:
    record = RequestRecord(index, 0, dispatched_ns, 0, array("q"), 0, None, None)
    member._take_row(to_row(record))
