"""The simulated engine as a process: started both ways, slow, crashing, growing, stopped."""

import http.client
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from adapters.protocol import StartFailure
from adapters.simulated.adapter import PROGRAM, SimulatedAdapter
from adapters.simulated.engine import CRASH_STATUS

ROOT = Path(__file__).resolve().parents[2]
Program = subprocess.Popen[str]
Start = Callable[..., Program]
BODY = json.dumps({"prompt": "a", "max_tokens": 1})
MIB = 1 << 20


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def run(*flags: str, how: tuple[str, ...] = (str(PROGRAM),), cwd: Path = tmp_path) -> Program:
            argv = [sys.executable, *how, "--port", "0", "--ttft-s", "0.001", *flags]
            program = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            stack.callback(_end, program)
            return program

        yield run


def _end(program: Program) -> None:
    program.kill()
    program.wait(10)
    program.stdout.close()


def _connect(program: Program) -> http.client.HTTPConnection:
    line = program.stdout.readline()
    found = re.search(r"listening on 127\.0\.0\.1:(\d+)", line)
    assert found, f"expected the port, saw {line}"
    return http.client.HTTPConnection("127.0.0.1", int(found.group(1)), timeout=10)


def _complete(client: http.client.HTTPConnection) -> int:
    client.request("POST", "/v1/completions", BODY)
    response = client.getresponse()
    response.read()
    return response.status


@pytest.mark.parametrize("how", [("-m", "adapters.simulated.server"), (str(PROGRAM),)], ids=["module", "path"])
def test_it_starts_both_ways_and_stops_with_a_whole_log(start: Start, tmp_path: Path, how: tuple[str, ...]) -> None:
    log = tmp_path / "sent.jsonl"
    program = start("--log", str(log), how=how, cwd=ROOT if how[0] == "-m" else tmp_path)
    client = _connect(program)
    assert _complete(client) == 200
    waiting = json.dumps({"prompt": "a", "max_tokens": 1000, "stream": True})
    client.request("POST", "/v1/completions", waiting)
    client.getresponse().readline()
    program.terminate()
    assert program.wait(10) == 0
    client.close()
    assert [json.loads(line)["outcome"] for line in log.read_text().splitlines()] == ["completed", "server_stopped"]


def test_it_needs_nothing_of_ours_beyond_its_folder() -> None:
    program = "import json, sys; from adapters.simulated import server; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert {"uvloop", "httptools"} <= loaded
    assert not loaded & {"pydantic", "numpy", "orchestrator", "workloads", "search_spaces", "ray", "mlflow"}


@pytest.mark.parametrize(
    ("flags", "status", "kind"),
    [
        (("--crash-on-start", "CUDA out of memory. Tried to allocate 2.00 GiB"), 1, StartFailure.OUT_OF_MEMORY),
        (("--crash-on-start=--dtype: invalid choice: 'fp3'",), 1, StartFailure.BAD_FLAG),
        (("--no-such-flag", "1"), 2, StartFailure.BAD_FLAG),
        (("--script", "no-such-script.jsonl"), 1, StartFailure.UNKNOWN),
    ],
)
def test_failed_start_says_why(start: Start, flags: tuple[str, ...], status: int, kind: StartFailure) -> None:
    output, _ = (program := start(*flags)).communicate(timeout=30)
    assert program.returncode == status
    assert output.strip()
    assert SimulatedAdapter().classify_failure(output) is kind


def test_taken_port_is_said_so(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        program = start("--port", str(taken.getsockname()[1]))
        output, _ = program.communicate(timeout=30)
    assert program.returncode == 1
    assert SimulatedAdapter().classify_failure(output) is StartFailure.PORT_TAKEN


def test_slow_start_listens_late(start: Start) -> None:
    started_s = time.monotonic()
    client = _connect(start("--start-delay-s", "0.5"))
    assert time.monotonic() - started_s >= 0.5
    assert _complete(client) == 200
    client.close()


def test_it_crashes_after_so_many_requests(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "sent.jsonl"
    program = start("--crash-after-requests", "2", "--log", str(log))
    client = _connect(program)
    assert [_complete(client), _complete(client)] == [200, 200]
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        _complete(client)
    client.close()
    assert program.wait(10) == CRASH_STATUS
    assert "crash after 2 requests" in program.stdout.read()
    assert len(log.read_text().splitlines()) == 2


def test_each_request_leaves_resident_memory_behind(start: Start) -> None:
    program = start("--grow-bytes-per-request", str(8 * MIB))
    client = _connect(program)
    process = psutil.Process(program.pid)
    _complete(client)
    before_bytes = process.memory_info().rss
    for _ in range(5):
        _complete(client)
    client.close()
    assert process.memory_info().rss - before_bytes >= 5 * 8 * MIB - MIB
