"""Both loops against a scripted server: times kept, users counted, connections reused, nothing capped."""

import asyncio
import gc
import os
import resource
import threading
from typing import NamedTuple

import numpy as np
import pytest

from adapters.openai import Dialect
from adapters.protocol import Capabilities
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure
from orchestrator.replay import Timing, replay_closed, replay_open
from tests.unit.replay.scripted_server import Call, Server, answer, event, prepared, serving, stream


async def hang(_: Call) -> None:
    await asyncio.Event().wait()


async def slow_answer(call: Call) -> bool:
    await asyncio.sleep(0.01)
    return await answer(call)


class Run(NamedTuple):
    count: int = 20
    gap_s: float = 0.005
    timing: Timing = Timing(0.02, 0.08, 2, 1)


def open_run(server: Server, run: Run = Run(), **more: object) -> ReplayLog:  # noqa: B008 - a frozen value
    return replay_open(
        prepared(run.count, gap_s=run.gap_s),
        server.endpoint,
        load=OpenLoad(rate_rps=1 / run.gap_s),
        timing=run.timing,
        **more,
    )


def closed_run(server: Server, users: int, count: int = 500, timing: Timing = Timing(0.04, 0.2, 2, 1)) -> ReplayLog:  # noqa: B008 - a frozen value
    return replay_closed(prepared(count), server.endpoint, load=ClosedLoad(users=users), timing=timing)


def test_open_loop_keeps_its_schedule_when_the_server_hangs() -> None:
    with serving(hang) as server:
        log = open_run(server, Run(timing=Timing(0.02, 0.08, 0.05, 30)))
    assert [one.intended_ns - log.started_ns for one in log.records] == [index * 5_000_000 for index in range(20)]
    lag_ns = np.array([one.dispatched_ns - one.intended_ns for one in log.records])
    assert lag_ns.min() >= 0
    assert np.median(lag_ns) < 20_000_000
    assert {one.failure for one in log.records} == {RequestFailure.CANCELLED}


def test_open_loop_sends_until_the_windows_end_and_not_beyond() -> None:
    with serving(answer) as server:
        log = open_run(server, Run(count=100))
    assert len(log.records) == 20
    assert log.window.start_ns - log.started_ns == 20_000_000
    assert log.window.duration_s == pytest.approx(0.08)
    assert all(one.intended_ns < log.window.end_ns for one in log.records)
    assert log.drained_ns >= log.window.end_ns
    assert len(log.loop_lag_ns) >= 6
    assert 0 < log.client_cpu_ratio <= 1.5


def test_nothing_caps_the_number_in_flight() -> None:
    arrived = asyncio.Event()

    async def all_together(call: Call) -> bool:
        if call.number >= 149:
            arrived.set()
        await arrived.wait()
        return await answer(call)

    with serving(all_together, backlog=512) as server:
        log = open_run(server, Run(count=150, gap_s=0.0004, timing=Timing(0, 0.1, 5, 5)))
    assert server.peak == 150
    assert log.notes["peak_in_flight"] == "150"
    assert {one.failure for one in log.records} == {None}


def test_connections_are_reused_when_kept_alive() -> None:
    with serving(answer) as server:
        log = open_run(server, Run(count=20, gap_s=0.01, timing=Timing(0, 0.2, 2, 1)))
    assert len(log.records) == 20
    assert server.connections - 1 < 20, "one is the probe of the address"
    assert max(call.use for call in server.calls) > 1


def test_a_server_that_keeps_nothing_alive_gets_a_connection_a_request() -> None:
    dialect = Dialect(capabilities=Capabilities(keeps_alive=False))
    with serving(answer) as server:
        log = open_run(server, dialect=dialect)
    assert {one.failure for one in log.records} == {None}
    assert {call.use for call in server.calls} == {1}
    assert all(b"Connection: close" in call.head for call in server.calls)
    assert all(one.connect_ns > 0 for one in log.records)


def test_a_stale_connection_is_replaced_once_and_shows_in_connect_ns() -> None:
    async def close_on_the_second(call: Call) -> bool:
        return call.use == 1 and await answer(call)

    with serving(close_on_the_second) as server:
        log = closed_run(server, users=1, count=500, timing=Timing(0.02, 0.1, 2, 1))
    assert {one.failure for one in log.records} == {None}
    reconnects = int(log.notes["reconnects"])
    assert reconnects > 0
    assert sum(one.connect_ns > 0 for one in log.records) == reconnects


def test_a_new_connection_that_closes_is_not_tried_again() -> None:
    async def close(_: Call) -> bool:
        return False

    with serving(close) as server:
        log = open_run(server, Run(count=1), dialect=Dialect(capabilities=Capabilities(keeps_alive=False)))
    assert len(server.calls) == 1
    assert log.records[0].failure is RequestFailure.CUT_STREAM


def test_closed_loop_never_exceeds_its_users() -> None:
    with serving(slow_answer) as server:
        log = closed_run(server, users=4)
    assert server.peak == 4
    assert log.notes["peak_in_flight"] == "4"
    assert [one.index for one in log.records] == list(range(len(log.records)))
    assert {one.failure for one in log.records} == {None}
    assert np.median([one.dispatched_ns - one.intended_ns for one in log.records]) < 5_000_000
    assert max(one.intended_ns for one in log.records) < log.window.end_ns


def test_a_user_asks_again_when_its_answer_has_ended() -> None:
    with serving(slow_answer) as server:
        log = closed_run(server, users=1)
    assert len(log.records) > 3
    for before, after in zip(log.records, log.records[1:], strict=False):
        assert before.end_ns <= after.intended_ns <= after.dispatched_ns


def test_a_failing_server_does_not_eat_the_requests() -> None:
    async def refuse(call: Call) -> bool:
        call.writer.write(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
        return True

    with serving(refuse) as server:
        log = closed_run(server, users=2)
    assert len(log.records) <= 2 * 4
    assert {one.failure for one in log.records} == {RequestFailure.HTTP_STATUS}


def test_closed_loop_without_requests_left_ends_its_window_there() -> None:
    with serving(slow_answer) as server:
        log = closed_run(server, users=1, count=8, timing=Timing(0.01, 5, 2, 1))
        assert len(log.records) == 8
        assert log.window.duration_s < 4
        assert "exhausted" in log.notes
        with pytest.raises(MeasurementRefusedError, match="2 requests"):
            closed_run(server, users=1, count=2, timing=Timing(5, 5, 2, 1))


def test_a_stop_from_outside_ends_the_replay_at_once() -> None:
    stop = threading.Event()

    async def stop_on_third(call: Call) -> bool:
        if call.number == 2:
            stop.set()
        return await answer(call)

    with serving(stop_on_third) as server:
        log = open_run(server, Run(count=10_000, timing=Timing(0, 50, 5, 5)), stop=stop)
    assert 3 <= len(log.records) < 1000
    assert "stopped" in log.notes


def test_it_runs_in_a_thread_of_any_process() -> None:
    logs: list[ReplayLog] = []
    with serving(answer) as server:
        thread = threading.Thread(target=lambda: logs.append(open_run(server)))
        thread.start()
        thread.join(10)
    assert len(logs[0].records) == 20


def test_several_clients_can_have_a_common_start() -> None:
    start_ns = SystemClock().now_ns() + 30_000_000
    with serving(answer) as server:
        log = open_run(server, Run(count=2), start_ns=start_ns)
    assert log.started_ns == start_ns
    assert log.records[0].intended_ns == start_ns


def test_requests_carry_their_id_the_key_and_the_path() -> None:
    with serving(answer) as server:
        endpoint = Endpoint(server.endpoint.base_url + "/engine", "m", key="s3cret-key")
        log = replay_open(prepared(1), endpoint, load=OpenLoad(rate_rps=1), timing=Timing(0, 0.02, 1, 1))
    head = server.calls[0].head
    assert head.startswith(b"POST /engine/v1/completions HTTP/1.1\r\n")
    assert b"Authorization: Bearer s3cret-key\r\n" in head
    assert f"X-Request-Id: {log.notes['request_id_prefix']}-0\r\n".encode() in head
    assert server.calls[0].body == prepared(1)[0].body


def test_the_collector_is_off_in_the_window_and_back_afterwards() -> None:
    seen: list[bool] = []

    async def look(call: Call) -> bool:
        seen.append(gc.isenabled())
        return await answer(call)

    with serving(look) as server:
        open_run(server, Run(count=1))
    assert (seen, gc.isenabled(), gc.get_freeze_count()) == ([False], True, 0)


def test_the_thread_is_pinned_for_the_replay_only() -> None:
    before = os.sched_getaffinity(0)
    chosen = min(before)
    seen: list[set[int]] = []

    class Looking(SystemClock):
        def now_ns(self) -> int:
            seen.append(os.sched_getaffinity(0))
            return super().now_ns()

    with serving(answer) as server:
        open_run(server, Run(count=1), cpus=(chosen,), clock=Looking())
    assert {frozenset(cpus) for cpus in seen} == {frozenset({chosen})}
    assert os.sched_getaffinity(0) == before


def test_cores_that_are_not_there_are_refused() -> None:
    with serving(answer) as server, pytest.raises(InputError, match="4095"):
        open_run(server, cpus=(4095,))


def test_too_few_descriptors_are_said_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 100))
    with serving(answer) as server, pytest.raises(MeasurementRefusedError, match="148 file descriptors"):
        open_run(server)
    assert server.calls == []


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://x", "http://", "http://h:x", "http://h?a=b"])
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"URL|port"):
        replay_open(prepared(1), Endpoint(url, "m"), load=OpenLoad(rate_rps=1), timing=Timing(0, 0.1, 1, 1))


def test_a_key_with_a_line_break_is_refused_and_not_shown() -> None:
    with pytest.raises(InputError, match="API key") as caught:
        replay_open(
            prepared(1),
            Endpoint("http://127.0.0.1:1", "m", key="se\ncret"),
            load=OpenLoad(rate_rps=1),
            timing=Timing(0, 0.1, 1, 1),
        )
    assert "cret" not in str(caught.value)


def test_ipv6_is_spoken() -> None:
    with serving(answer, host="::1") as server:
        log = replay_open(
            prepared(1),
            Endpoint(f"http://[::1]:{server.port}", "m"),
            load=OpenLoad(rate_rps=1),
            timing=Timing(0, 0.03, 1, 1),
        )
    assert log.records[0].failure is None
    assert f"Host: [::1]:{server.port}".encode() in server.calls[0].head


def test_a_fault_of_ours_is_raised_and_not_booked_on_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.openai.stream.StreamScanner.feed_all", lambda *_: 1 // 0)

    async def one_event(call: Call) -> bool:
        call.writer.write(stream(event()))
        return True

    with serving(one_event) as server, pytest.raises(Exception, match=r"division|callback") as caught:
        open_run(server, Run(count=1))
    assert "Zero" in repr(caught.value) or "Zero" in repr(caught.value.__cause__ or caught.value.__context__)
