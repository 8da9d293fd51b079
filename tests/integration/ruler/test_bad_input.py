"""What is wrong with a server or a network is told by its kind, counted, and never a success."""

import ast
import contextlib
import json
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import orchestrator.replay
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.metrics.latency import dispatch_lag_s, ttft_s
from orchestrator.replay import PreparedRequest, Timing, replay_open
from orchestrator.trials.remote import find_target
from tests.integration.ruler.stage import ROOT, Stage

MIB = 1 << 20
CASES = {
    "refuses the key": (RequestFailure.HTTP_STATUS, 401, "401: "),
    "is busy": (RequestFailure.HTTP_STATUS, 429, "429 (Retry-After: 7): "),
    "no such model": (RequestFailure.HTTP_STATUS, 404, "this server has "),
    "speaks HTML": (RequestFailure.BAD_RESPONSE, 200, "expected an event stream, seen <html>"),
    "HTML as a stream": (RequestFailure.BAD_RESPONSE, 200, "expected an event stream, seen <html>"),
    "half a letter": (RequestFailure.BAD_RESPONSE, 200, "utf-8"),
    "breaks": (RequestFailure.STREAM_ERROR, 200, "simulated failure"),
    "is cut": (RequestFailure.CUT_STREAM, 200, "closed"),
    "says nothing": (RequestFailure.TIMEOUT, None, "no whole answer within 0.5 s"),
    "never ends": (RequestFailure.TIMEOUT, 200, "no whole answer within 0.5 s"),
}


def ask(url: str, *, body: bytes = b"{}", timeout_s: float = 1.0) -> RequestRecord:
    log = replay_open(
        [PreparedRequest(0, 0, body, 5, 6)],
        Endpoint(url, "quick"),
        load=OpenLoad(rate_rps=1),
        timing=Timing(warmup_s=0, measure_s=0.05, drain_s=5, request_timeout_s=timeout_s),
    )
    (record,) = log.records
    return record


def test_kinds_of_failure_are_told_apart_and_leave_good_answers_alone(stage: Stage) -> None:
    asked = [voice for bad in CASES for voice in (bad, "quick")]
    run = stage_play(stage, asked)
    for voice, record in zip(asked, run, strict=True):
        if voice == "quick":
            assert (record.failure, record.output_tokens) == (None, 6)
            continue
        failure, status, detail = CASES[voice]
        assert (record.failure, record.http_status) == (failure, status), voice
        assert detail in (record.failure_detail or ""), voice
        assert (record.output_tokens, ttft_s(record)) == (None, None), voice


def stage_play(stage: Stage, voices: list[str]) -> list[RequestRecord]:
    """Play voices of which the server logs not all: a request that it refuses has no row."""
    requests = [PreparedRequest(at, at * 10_000_000, stage.body(voice), 5, 6) for at, voice in enumerate(voices)]
    log = replay_open(
        requests,
        Endpoint(stage.url, "quick", key="s3cret"),
        load=OpenLoad(rate_rps=100),
        timing=Timing(warmup_s=0, measure_s=len(voices) / 100 + 0.02, drain_s=10, request_timeout_s=0.5),
    )
    assert "s3cret" not in repr(log.records)
    return sorted(log.records, key=lambda one: one.index)


def test_a_model_that_is_not_served_is_refused_beforehand_with_those_that_are(stage: Stage) -> None:
    with pytest.raises(InputError, match=r"does not serve 'gpt-9'; it serves .*quick"):
        find_target(stage.url, model="gpt-9", key=None, tokenizer=None)


def test_a_wrong_address_is_refused_in_each_of_its_ways(stage: Stage) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        record = ask(f"http://127.0.0.1:{unheard.getsockname()[1]}")
    assert (record.failure, record.sent_ns) == (RequestFailure.REFUSED, None)
    record = ask(stage.url + "/wrong")
    assert (record.failure, record.http_status) == (RequestFailure.HTTP_STATUS, 404)
    with pytest.raises(InputError, match="no address for host"):
        ask("http://no-such-host.invalid")


def test_tls_spoken_to_a_plain_server_is_a_refusal(stage: Stage) -> None:
    record = ask(stage.url.replace("http:", "https:"))
    assert record.failure is RequestFailure.REFUSED
    assert "SSL" in (record.failure_detail or "")


def test_a_letter_in_two_parts_is_whole(stage: Stage) -> None:
    run = stage.play(["letter in two parts"])
    assert [one.failure for one in run.log.records] == [None]


@pytest.mark.parametrize("voice", ["one endless line", "one endless event", "endless comments"])
def test_a_body_without_end_ends_as_a_failure_in_bounded_memory(stage: Stage, voice: str) -> None:
    before = resident_bytes()
    with peak_memory() as peak:
        run = stage.play([voice, "quick"], timeout_s=0.8)
    bad, good = sorted(run.log.records, key=lambda one: one.index)
    assert bad.failure in {RequestFailure.TIMEOUT, RequestFailure.BAD_RESPONSE}
    assert bad.output_tokens is None
    assert good.failure is None
    assert peak[0] - before < 64 * MIB


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


@contextlib.contextmanager
def peak_memory() -> Iterator[list[int]]:
    """Sample this process's resident memory while the block runs; the peak, in bytes, stands in the list."""
    peak, is_over = [0], threading.Event()

    def sample() -> None:
        while not is_over.wait(0.02):
            peak[0] = max(peak[0], resident_bytes())

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield peak
    finally:
        is_over.set()
        thread.join()


def test_a_server_that_takes_the_request_slowly_is_slow_and_the_client_is_not() -> None:
    with slow_reader(pause_s=0.3) as url:
        record = ask(url, body=b"x" * (8 * MIB), timeout_s=10)
    assert record.failure is None
    assert (ttft_s(record) or 0) >= 0.3
    assert dispatch_lag_s(record) < 0.1


@contextlib.contextmanager
def slow_reader(*, pause_s: float) -> Iterator[str]:
    """Serve one request: let it wait in the socket's small buffer, then read it and answer with a token."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def serve() -> None:
            while not answer(listening.accept()[0], pause_s):
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(20)


def answer(connection: socket.socket, pause_s: float) -> bool:
    """Answer one request late; False where the connection brought none, as one that only tried whether we listen."""
    with connection:
        if not connection.recv(1):
            return False
        time.sleep(pause_s)
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        missing = length - len(head.partition(b"\r\n\r\n")[2])
        while missing > 0:
            missing -= len(connection.recv(MIB))
        events = b'data: {"choices": [{"text": "a"}]}\n\ndata: [DONE]\n\n'
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + events)
    return True


def test_a_clock_that_is_set_during_the_run_changes_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(time, "time", lambda: float(next(jumps)))
    monkeypatch.setattr(time, "time_ns", lambda: next(jumps) * 10**9)
    run = stage.play(["quick"] * 5)
    assert {one.failure for one in run.log.records} == {None}
    assert all(0.02 <= (ttft_s(one) or 0) < 5 for one in run.log.records)


def test_the_client_reads_no_wall_clock() -> None:
    """Whole programs beside the measured path may: what is named here is looked at, every file of the client."""
    folder = Path(next(iter(orchestrator.replay.__path__)))
    wall = {"time", "time_ns", "now", "utcnow", "today", "wall_s"}
    found = [
        f"{path.relative_to(folder)}:{node.lineno} {node.attr}"
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in wall and _name(node.value) in {"time", "datetime", "clock"}
    ]
    assert found == []


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_too_few_descriptors_are_refused_beforehand_with_the_number_needed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    with pytest.raises(MeasurementRefusedError, match=r"ulimit -n \d{3,}"):
        stage.play(["quick"] * 500, gap_s=0.001, timeout_s=60)


def test_ports_that_run_out_are_told_by_name_and_are_refusals() -> None:
    """In a network of its own, with eight ports for connections to go out from."""
    program = Path(__file__).with_name("few_ports.py")
    isolated = ["unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*isolated, "true"], check=False).returncode:
        pytest.skip("this machine gives nobody a network of their own (unshare --net --map-root-user)")
    done = subprocess.run(
        [*isolated, sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["failures"].keys() == {"refused", "timeout"}
    assert 20 - 8 <= seen["failures"]["refused"] < 20
    assert all("Cannot assign requested address" in detail for detail in seen["refusals"])
