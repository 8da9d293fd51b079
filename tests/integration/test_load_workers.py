"""Several client processes as one: one schedule, one start, one log; what is lost is said, and nothing stays behind."""

import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord
from orchestrator.metrics.fidelity import judge
from orchestrator.replay import PreparedRequest, Timing, read_records
from orchestrator.replay.workers import Crew, coordinator, launch_process, replay_shared
from orchestrator.replay.workers.channel import PROGRAM, OnBytes, OnLost, ProcessChannel
from orchestrator.replay.workers.merging import LOST

ROOT = Path(__file__).resolve().parents[2]
S = 1_000_000_000
RATE_RPS = 60
TIMING = Timing(0.5, 1.0, 2.0, 5.0)
COUNT = round(RATE_RPS * 1.5)
DIALECT = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
BODY = encode_request(list(range(20)), "simulated", dialect=DIALECT, max_tokens=4)
SHIFTED = """
import socket, sys
from orchestrator.domain.clock import SystemClock
from orchestrator.replay.workers.worker import serve
class Shifted(SystemClock):
    def now_ns(self):
        return super().now_ns() + 7_000_000_000
serve(socket.socket(fileno=int(sys.argv[1])), Shifted())
"""
LATE = """
import socket, sys, time
from orchestrator.domain.clock import SystemClock
from orchestrator.replay.workers.worker import serve
serve(socket.socket(fileno=int(sys.argv[1])), SystemClock(), before_replay=lambda: time.sleep(1.3))
"""
PARENT = """
import sys
from tests.integration.test_load_workers import COUNT, replay_many
replay_many(sys.argv[1])
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    argv = [sys.executable, "-m", "adapters.simulated.server", "--port", "0", "--ttft-s", "0.02", "--itl-s", "0.005"]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            assert selector.select(30), "the simulated engine did not start"
        port = int(re.search(r":(\d+) with", process.stdout.readline()).group(1))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def schedule(count: int = COUNT) -> list[PreparedRequest]:
    return [PreparedRequest(at, at * S // RATE_RPS, BODY, 20, 4) for at in range(count)]


def replay_many(url: str) -> None:
    timing = Timing(0.5, 60.0, 2.0, 5.0)
    requests = schedule(60 * RATE_RPS)
    replay_shared(requests, Endpoint(url, "simulated"), load=OpenLoad(rate_rps=60), timing=timing, crew=Crew(2))


def replay(url: str, *, crew: Crew, timing: Timing = TIMING, records_path: Path | None = None) -> ReplayLog:
    return replay_shared(
        schedule(),
        Endpoint(url, "simulated"),
        load=OpenLoad(rate_rps=RATE_RPS),
        timing=timing,
        crew=crew,
        dialect=DIALECT,
        records_path=records_path,
    )


def met(act: Callable[[ProcessChannel], None], *, after_s: float) -> Crew:
    """Return a crew whose second worker meets with something so long after it was told to start."""

    async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> ProcessChannel:
        channel = await launch_process(name, on_bytes, on_lost)
        if name == "worker-1":
            send = channel.send

            def sent(data: bytes) -> None:
                send(data)
                if data[4] == coordinator.Kind.START:
                    threading.Timer(after_s, act, [channel]).start()

            channel.send = sent
        return channel

    return Crew(2, launch=launch)


def sent_well(log: ReplayLog) -> list[RequestRecord]:
    return [one for one in log.records if one.failure is None]


def test_two_workers_leave_one_log_in_order_though_the_clock_of_one_is_seven_seconds_ahead(
    url: str, tmp_path: Path
) -> None:
    async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> ProcessChannel:
        program = ("-c", SHIFTED) if name == "worker-1" else PROGRAM
        return await launch_process(name, on_bytes, on_lost, program=program)

    path = tmp_path / "requests.parquet"
    log = replay(url, crew=Crew(2, launch=launch), records_path=path)
    assert [one.index for one in log.records] == list(range(COUNT))
    assert [one.intended_ns - log.started_ns for one in log.records] == [at * S // RATE_RPS for at in range(COUNT)]
    assert len(sent_well(log)) == COUNT
    assert all(0 <= one.dispatched_ns - one.intended_ns < S for one in log.records)
    assert all(one.dispatched_ns <= one.sent_ns < one.first_ns <= one.end_ns for one in log.records)
    assert [one.num_requests for one in log.workers] == [COUNT // 2, COUNT // 2]
    assert [one.failure for one in log.workers] == [None, None]
    first, second = log.workers
    assert first.clock_offset_ns == 0
    assert 0 < second.clock_error_ns < S // 10
    assert abs(second.clock_offset_ns - 7 * S) <= second.clock_error_ns
    assert max(one.late_ns for one in log.workers) < S
    assert log.window.end_ns - log.window.start_ns == S
    assert log.drained_ns - log.window.end_ns < 3 * S
    assert read_records(path).records == tuple(log.records)
    assert log.backlog_s > 0


def test_a_closed_loop_splits_its_users_and_stops_everywhere_when_there_is_no_hope(url: str) -> None:
    class Hopeless:
        ends = 0

        def ended(self, *, intended_ns: int, ttft_ns: int | None, end_ns: int) -> None:
            assert ttft_ns is None or intended_ns < intended_ns + ttft_ns <= end_ns
            self.ends += 1

        def give_up(self, now_ns: int, in_flight: int) -> str | None:
            del now_ns
            assert in_flight <= 5
            return "no hope" if self.ends > 100 else None

    monitor = Hopeless()
    log = replay_shared(
        iter([PreparedRequest(at, 0, BODY, 20, 4) for at in range(20_000)]),
        Endpoint(url, "simulated"),
        load=ClosedLoad(users=5),
        timing=Timing(0.2, 30.0, 2.0, 5.0),
        crew=Crew(2),
        dialect=DIALECT,
        monitor=monitor,
    )
    assert log.early_stop == "no hope"
    assert log.window.end_ns - log.window.start_ns < 20 * S
    assert 100 < len(log.records) == monitor.ends < 2000
    assert len({one.index for one in log.records}) == len(log.records)
    counts = [one.num_requests for one in log.workers]
    assert 1 < counts[0] / counts[1] < 2.2, "three users beside two"


def test_a_killed_worker_is_named_and_its_requests_are_there_as_cancelled(url: str) -> None:
    after_s = coordinator.LEAD_NS / S + 0.8
    log = replay(url, crew=met(lambda channel: channel.process.kill(), after_s=after_s))
    assert [one.index for one in log.records] == list(range(COUNT))
    assert log.workers[0].failure is None
    assert "killed by SIGKILL" in log.workers[1].failure
    kept, lost = sent_well(log), [one for one in log.records if one.failure is not None]
    assert {(one.failure, one.failure_detail, one.sent_ns) for one in lost} == {(RequestFailure.CANCELLED, LOST, None)}
    assert {one.index % 2 for one in lost} == {1}
    assert len([one for one in kept if one.index % 2 == 0]) == COUNT // 2
    assert 5 <= len([one for one in kept if one.index % 2]) < COUNT // 2
    assert log.window.end_ns - log.window.start_ns == S
    assert judge(log).verdict == Verdict.INVALID


def test_a_worker_that_begins_in_the_middle_of_the_window_says_so_and_hides_no_request(url: str) -> None:
    async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> ProcessChannel:
        program = ("-c", LATE) if name == "worker-1" else PROGRAM
        return await launch_process(name, on_bytes, on_lost, program=program)

    log = replay(url, crew=Crew(2, launch=launch), timing=Timing(0.2, 3.0, 1.0, 5.0))
    assert [one.index for one in log.records] == list(range(COUNT))
    late_ns = log.workers[1].late_ns
    assert S // 2 < late_ns < 3 * S
    mine = [one for one in log.records if one.index % 2]
    assert all(one.dispatched_ns >= log.started_ns + late_ns for one in mine)
    assert judge(log).verdict == Verdict.INVALID


def test_a_worker_that_hangs_is_ended_and_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "GRACE_NS", S // 2)
    crew = met(lambda channel: channel.process.send_signal(signal.SIGSTOP), after_s=coordinator.LEAD_NS / S + 0.6)
    log = replay(url, crew=crew, timing=Timing(0.5, 1.0, 0.5, 0.3))
    assert log.workers[1].failure.startswith("hung")
    assert len(log.records) == COUNT
    assert len([one for one in sent_well(log) if one.index % 2 == 0]) == COUNT // 2


def test_what_no_worker_can_do_is_refused_as_by_one_process(url: str) -> None:
    with pytest.raises(InputError, match="client cores \\[4095\\] are not to be had"):
        replay(url, crew=Crew(2, cpus=(4095,)))

    async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> ProcessChannel:
        return await launch_process(name, on_bytes, on_lost, program=("-c", "raise SystemExit(3)"))

    with pytest.raises(MeasurementRefusedError, match=r"worker-0 of 2 .* exit code 3.*nothing was sent"):
        replay(url, crew=Crew(2, launch=launch))


def test_no_worker_outlives_a_parent_that_is_killed(url: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, url], cwd=ROOT)
    try:
        workers = until(lambda: found if len(found := children(parent.pid)) == 2 else None)
        time.sleep(1.0)
        assert children(parent.pid) == workers, "they are still at work when their parent is killed"
    finally:
        parent.kill()
        parent.wait()
    assert until(lambda: all(not is_alive(pid) for pid in workers))


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def until(holds: Callable[[], object], limit_s: float = 20.0) -> object:
    give_up_at = time.monotonic() + limit_s
    while not (value := holds()):
        assert time.monotonic() < give_up_at
        time.sleep(0.05)
    return value
