import socket
import threading
from array import array
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.replay.record_rows import NAMES, shifted, to_record, to_row
from orchestrator.replay.workers.link import Inbox, Outbox
from orchestrator.replay.workers.order import cores_of, read_order, share_out
from orchestrator.replay.workers.wire import Frames, Kind, frame, read, spell

RECORD = RequestRecord(
    index=7,
    intended_ns=100,
    dispatched_ns=110,
    sent_ns=120,
    chunk_ns=array("q", [200, 300]),
    end_ns=310,
    input_tokens=5,
    output_tokens_asked=2,
    failure=RequestFailure.CUT_STREAM,
    failure_detail="cut",
    chunk_tokens=array("q", [1, 1]),
)


@given(st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=40)), max_size=8), st.data())
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    sent: list[tuple[Kind, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(frame(*one) for one in sent)
    frames, seen, at = Frames(), [], 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream)))
        seen += frames.cut(stream[at : at + size])
        at += size
    assert seen == sent


def test_a_row_is_the_record_and_holds_every_field_of_it() -> None:
    assert tuple(one.name for one in fields(RequestRecord)) == NAMES
    assert to_record(read(spell(Kind.RECORD, to_row(RECORD))[5:])) == RECORD
    assert to_record(to_row(replace(RECORD, sent_ns=None, chunk_tokens=None, failure=None))).failure is None


def test_translating_a_clock_moves_times_and_nothing_else() -> None:
    moved = to_record(shifted(to_row(RECORD), -50))
    assert moved == replace(
        RECORD, intended_ns=50, dispatched_ns=60, sent_ns=70, chunk_ns=array("q", [150, 250]), end_ns=260
    )
    assert to_record(shifted(to_row(replace(RECORD, sent_ns=None)), -50)).sent_ns is None


def test_shares_add_up_to_the_load() -> None:
    assert share_out(OpenLoad(rate_rps=30), 3) == [OpenLoad(rate_rps=10)] * 3
    assert share_out(ClosedLoad(users=5), 2) == [ClosedLoad(users=3), ClosedLoad(users=2)]
    assert share_out(ClosedLoad(users=1), 4) == [ClosedLoad(users=1)]
    assert cores_of((4, 6), 3) == [(4,), (6,), (4,)]
    assert cores_of(None, 2) == [None, None]


def test_only_an_order_is_read_as_one() -> None:
    with pytest.raises(TypeError, match="expected an order, seen dict"):
        read_order(b"\x80\x04}.")


def test_requests_reach_a_worker_and_its_records_come_back() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        outbox = Outbox(theirs)
        gone = threading.Event()
        inbox = Inbox(theirs, outbox, now=lambda: 42, on_gone=gone.set)
        ours.sendall(spell(Kind.REQUESTS, [(at, at * 10, b"{}", None, 3) for at in range(200)]) + spell(Kind.WHOLE))
        ours.sendall(spell(Kind.START, 99) + spell(Kind.PING) + spell(Kind.GIVE_UP, "no use"))
        frames = Frames()
        [(kind, pong)] = list(frames.cut(ours.recv(4096)))
        assert (kind, read(pong)) == (Kind.PONG, 42)
        assert inbox.await_start() == 99
        assert not inbox.is_whole, "what was not taken is still to come"
        taken = [*inbox.take(), *inbox.take()]
        assert [one.index for one in taken] == list(range(200))
        assert inbox.is_whole
        outbox.put(RECORD)
        outbox.flush()
        [(kind, row)] = list(frames.cut(ours.recv(4096)))
        assert (kind, to_record(read(row))) == (Kind.RECORD, RECORD)
        ours.sendall(spell(Kind.DISMISS))
        inbox.await_dismissal()
        assert inbox.give_up(0, 0) == "no use"
        ours.close()
        assert gone.wait(5), "a worker whose coordinator is gone must end"
