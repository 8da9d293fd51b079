"""Scripted times are kept: never early by the server's own clock, hardly late."""

import json
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tests.unit.simulated.plain_client import Client, Served

Serve = Callable[..., tuple[Served, Client]]
MS = 1_000_000
LATE_NS = 200 * MS  # a shared machine may pause a process that long


def test_first_token_after_ttft_then_one_each_itl(serve: Serve) -> None:
    served, client = serve(ttft_s=0.03, itl_s=0.004)
    client.complete(max_tokens=8)
    (row,) = served.log()
    expected = [row["received_ns"] + 30 * MS + 4 * MS * token for token in range(8)]
    assert row["due_ns"] == expected
    late = [sent - due for sent, due in zip(row["sent_ns"], row["due_ns"], strict=True)]
    assert min(late) >= 0
    assert max(late) < LATE_NS
    assert row["chunk_tokens"] == [1] * 8


def test_client_sees_no_token_before_it_was_sent(serve: Serve) -> None:
    served, client = serve(ttft_s=0.02, itl_s=0.01)
    asked_ns = time.monotonic_ns()
    response = client.begin("/v1/completions", {"prompt": "a", "max_tokens": 3, "stream": True})
    seen_ns = [time.monotonic_ns() for line in response if b"token" in line]
    (row,) = served.log()
    assert asked_ns <= row["received_ns"]
    assert seen_ns[0] - asked_ns >= 20 * MS
    assert len(seen_ns) == 3
    assert all(0 <= seen - sent < LATE_NS for seen, sent in zip(seen_ns, row["sent_ns"], strict=True))


def test_script_gives_each_request_its_own_times(serve: Serve, tmp_path: Path) -> None:
    lines = [
        {"ttft_s": 0.01, "itl_s": [0.001, 0.003]},
        {"request_id": "named", "ttft_s": 0.02, "tokens_per_chunk": [1, 2]},
        {"ttft_s": 0.0, "itl_s": 0},
    ]
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    served, client = serve(script=str(path), itl_s=0.002)
    client.complete(max_tokens=4)
    client.complete(max_tokens=3)
    client.complete(max_tokens=5, user="named")
    client.complete(max_tokens=1)
    first, second, named, after = served.log()
    assert [due - first["received_ns"] for due in first["due_ns"]] == [10 * MS, 11 * MS, 14 * MS, 17 * MS]
    assert [due - second["received_ns"] for due in second["due_ns"]] == [0, 0, 0]
    assert [due - named["received_ns"] for due in named["due_ns"]] == [20 * MS, 22 * MS, 24 * MS]
    assert named["chunk_tokens"] == [1, 2, 2]
    assert [due - after["received_ns"] for due in after["due_ns"]] == [5 * MS]


def test_one_runs_at_a_time_and_others_wait_in_order(serve: Serve) -> None:
    served, client = serve(max_running=1, ttft_s=0.05)
    sockets = [Client(served.port) for _ in range(3)]
    try:
        for number, socket in enumerate(sockets):
            row = {"prompt": "a", "max_tokens": 2, "stream": True, "user": str(number)}
            socket.http.request("POST", "/v1/completions", json.dumps(row))
            _until(lambda count=number: client.metrics()["simulated_requests_waiting"] == count)
        gauges = client.metrics()
        assert gauges["simulated_requests_running"] == 1
        for socket in sockets:
            socket.http.getresponse().read()
    finally:
        for socket in sockets:
            socket.http.close()
    rows = served.log()
    assert [row["request_id"] for row in rows] == ["0", "1", "2"]
    assert rows[0]["admitted_ns"] == rows[0]["received_ns"]
    for before, after in pairwise(rows):
        assert after["admitted_ns"] >= before["ended_ns"]
        assert after["due_ns"][0] == after["admitted_ns"] + 50 * MS


def _until(is_so: Callable[[], bool]) -> None:
    deadline_ns = time.monotonic_ns() + 20 * LATE_NS
    while not is_so():
        assert time.monotonic_ns() < deadline_ns, "expected state was not reached"


def test_two_together_slow_each_other_down(serve: Serve) -> None:
    served, client = serve(ttft_s=0.4, slowdown_per_running=0.5)
    first = threading.Thread(target=lambda: _complete_alone(served.port))
    first.start()
    _until(lambda: client.metrics()["simulated_requests_running"] == 1)
    client.complete(max_tokens=1)
    first.join()
    alone, beside = sorted(served.log(), key=lambda row: row["index"])
    assert alone["due_ns"][0] - alone["received_ns"] == 400 * MS
    assert beside["due_ns"][0] - beside["received_ns"] == 600 * MS


def _complete_alone(port: int) -> None:
    with Client(port) as client:
        client.complete(max_tokens=1)


def test_answer_that_is_not_streamed_comes_with_its_last_token(serve: Serve) -> None:
    served, client = serve(ttft_s=0.02, itl_s=0.005)
    answer = client.complete(max_tokens=4, stream=False)
    (row,) = served.log()
    assert answer.row["usage"]["completion_tokens"] == 4
    assert row["due_ns"] == [row["received_ns"] + 35 * MS]
    assert row["chunk_tokens"] == [4]


def test_one_token_over_several_chunks_takes_no_longer(serve: Serve) -> None:
    served, client = serve(ttft_s=0.01, itl_s=0.006, chunks_per_token=3)
    answer = client.complete(max_tokens=2)
    (row,) = served.log()
    assert [due - row["received_ns"] for due in row["due_ns"]] == [at * MS for at in (10, 12, 14, 16, 18, 20)]
    assert row["chunk_tokens"] == [1, 0, 0, 1, 0, 0]
    assert len(answer.texts) == 6
    assert "".join(answer.texts) == " token0 token1"
