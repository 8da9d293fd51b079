"""What flows through a running replay: requests fed ahead, records that leave, a monitor that ends the load."""

import asyncio
import gc
import time
import weakref
from collections.abc import Sequence

import pytest

from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ClientPath, RequestFailure, RequestRecord
from orchestrator.replay import PreparedRequest, Timing, replay_closed, replay_open
from orchestrator.replay.exchange import Exchange
from tests.unit.replay.scripted_server import Call, answer, prepared, serving

TIMING = Timing(0.02, 0.18, 2, 1)


class Feed:
    """Hands over one block at each call, the first at once, and is whole with the last."""

    def __init__(self, *blocks: Sequence[PreparedRequest]) -> None:
        self.blocks = list(blocks)

    @property
    def is_whole(self) -> bool:
        return not self.blocks

    def take(self) -> Sequence[PreparedRequest]:
        return self.blocks.pop(0) if self.blocks else ()


class Sink(list[RequestRecord]):
    put = list.append


class Watching:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.seen: list[tuple[int, int | None, int]] = []
        self.asked_ns: list[int] = []

    def ended(self, *, intended_ns: int, ttft_ns: int | None, end_ns: int) -> None:
        self.seen.append((intended_ns, ttft_ns, end_ns))

    def give_up(self, now_ns: int, in_flight: int) -> str | None:
        self.asked_ns.append(now_ns)
        return f"{in_flight} in flight" if len(self.seen) >= self.limit else None


def test_blocks_that_come_while_it_runs_keep_their_times() -> None:
    requests = prepared(20, gap_s=0.01)
    feed = Feed(requests[:5], (), requests[5:6], requests[6:])
    with serving(answer) as server:
        log = replay_open((), server.endpoint, load=OpenLoad(rate_rps=100), timing=TIMING, feed=feed)
    assert [one.intended_ns - log.started_ns for one in log.records] == [index * 10_000_000 for index in range(20)]
    assert [one.index for one in log.records] == list(range(20))
    assert {one.failure for one in log.records} == {None}
    assert log.window.duration_s == pytest.approx(0.18)


def test_a_block_that_comes_late_is_sent_late_and_says_so() -> None:
    requests = prepared(4)
    feed = Feed(requests[:2], *[()] * 6, requests[2:])
    with serving(answer) as server:
        log = replay_open((), server.endpoint, load=OpenLoad(rate_rps=100), timing=TIMING, feed=feed)
    assert {one.intended_ns for one in log.records} == {log.started_ns}
    lags_ns = [one.dispatched_ns - one.intended_ns for one in log.records]
    assert min(lags_ns[2:]) > 10_000_000


def test_users_wait_for_a_feed_and_end_with_it() -> None:
    requests = prepared(9)
    feed = Feed(requests[:2], (), (), requests[2:])
    with serving(answer) as server:
        timing = Timing(0.005, 5, 2, 1)
        log = replay_closed((), server.endpoint, load=ClosedLoad(users=2), timing=timing, feed=feed)
    assert [one.index for one in log.records] == list(range(9))
    assert log.window.duration_s < 4
    assert "all 9 requests" in log.notes["exhausted"]


def test_a_sink_has_every_record_and_the_log_none() -> None:
    sink = Sink()
    with serving(answer) as server:
        endpoint = server.endpoint
        log = replay_open(prepared(20, gap_s=0.01), endpoint, load=OpenLoad(rate_rps=100), timing=TIMING, sink=sink)
    assert log.records == ()
    assert sorted(one.index for one in sink) == list(range(20))
    assert [one.end_ns for one in sink] == sorted(one.end_ns for one in sink)
    assert {(one.failure, one.output_tokens_client) for one in sink} == {(None, 2)}


def test_an_ended_exchange_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    class Marked(Exchange):
        __slots__ = ("__weakref__",)

    alive: list[int] = []
    made: weakref.WeakSet[Marked] = weakref.WeakSet()

    def make(request: PreparedRequest, *args: object, **kwargs: object) -> Marked:
        exchange = Marked(request, *args, **kwargs)
        made.add(exchange)
        return exchange

    monkeypatch.setattr("orchestrator.replay.client.Exchange", make)

    class Looking(Sink):
        def put(self, record: RequestRecord) -> None:
            self.append(record)
            alive.append(len(made))

    with serving(answer) as server:
        endpoint = server.endpoint
        sink = Looking()
        replay_open(prepared(20, gap_s=0.01), endpoint, load=OpenLoad(rate_rps=100), timing=TIMING, sink=sink)
    assert gc.isenabled()
    assert alive[-1] <= 3, "the last exchange is still being entered, at most its neighbours are in flight"


def test_a_load_that_is_given_up_keeps_what_was_measured() -> None:
    monitor = Watching(limit=6)
    with serving(answer) as server:
        log = replay_open(
            prepared(1000, gap_s=0.01),
            server.endpoint,
            load=OpenLoad(rate_rps=100),
            timing=Timing(0.02, 9.0, 2, 1),
            monitor=monitor,
        )
    assert "in flight" in log.early_stop
    assert monitor.asked_ns[0] >= log.window.start_ns
    assert log.window.end_ns == monitor.asked_ns[-1]
    assert 6 <= len(log.records) < 500
    assert {one.failure for one in log.records} == {None}
    assert log.client_cpu_ratio is not None
    assert [one[0] for one in monitor.seen] == [one.intended_ns for one in log.records]
    assert all(
        ttft == one.first_ns - one.intended_ns for (_, ttft, _), one in zip(monitor.seen, log.records, strict=True)
    )


def test_what_is_in_flight_when_a_load_is_given_up_drains() -> None:
    class GivingUp(Watching):
        def give_up(self, now_ns: int, in_flight: int) -> str | None:
            self.asked_ns.append(now_ns)
            return "hopeless" if in_flight == 2 else None

    async def wait(call: Call) -> bool:
        await asyncio.sleep(0.1)
        return await answer(call)

    monitor = GivingUp(limit=0)
    with serving(wait) as server:
        timing, load = Timing(0.01, 9.0, 2, 5), OpenLoad(rate_rps=100)
        log = replay_open(prepared(2), server.endpoint, load=load, timing=timing, monitor=monitor)
    assert log.early_stop == "hopeless"
    assert [one.failure for one in log.records] == [None, None]
    assert min(one.end_ns for one in log.records) > log.window.end_ns == monitor.asked_ns[-1]


def test_a_failed_request_has_no_ttft_for_the_monitor() -> None:
    async def refuse(call: Call) -> bool:
        call.writer.write(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
        return True

    monitor = Watching(limit=99)
    with serving(refuse) as server:
        log = replay_open(prepared(1), server.endpoint, load=OpenLoad(rate_rps=1), timing=TIMING, monitor=monitor)
    assert log.records[0].failure is RequestFailure.HTTP_STATUS
    assert [ttft for _, ttft, _ in monitor.seen] == [None]
    assert (log.early_stop, log.path) == (None, ClientPath.DIRECT)


def test_a_client_that_was_blocked_over_the_windows_end_sends_what_is_overdue() -> None:
    class Blocking(Watching):
        def give_up(self, now_ns: int, in_flight: int) -> str | None:
            if not self.asked_ns:
                time.sleep(0.25)  # the fault under test: a client that stands still
            return super().give_up(now_ns, in_flight)

    with serving(answer) as server:
        requests, load = prepared(20, gap_s=0.01), OpenLoad(rate_rps=100)
        log = replay_open(requests, server.endpoint, load=load, timing=TIMING, monitor=Blocking(limit=99))
    assert [one.index for one in log.records] == list(range(20))
    assert max(one.dispatched_ns - one.intended_ns for one in log.records) > 0.1e9
