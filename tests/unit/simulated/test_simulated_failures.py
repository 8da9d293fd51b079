"""Each injected failure and each odd stream reaches the client as a real engine's would."""

import http.client
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.simulated.plain_client import Client, Served

Serve = Callable[..., tuple[Served, Client]]
STREAM = {"prompt": "a", "max_tokens": 3, "stream": True}


def test_every_second_request_is_refused(serve: Serve) -> None:
    served, client = serve(fail_every=2, fail_status=429)
    assert [client.complete().status for _ in range(4)] == [200, 429, 200, 429]
    assert [row["outcome"] for row in served.log()] == ["completed", "status"] * 2


def test_error_inside_the_stream_comes_with_status_200(serve: Serve) -> None:
    served, client = serve(fail_every=1, fail_kind="stream_error", fail_after_tokens=2)
    answer = client.complete(max_tokens=5)
    assert answer.status == 200
    assert answer.texts == [" token0", " token1"]
    assert answer.events[-2]["error"]["code"] == 500
    assert served.log()[0]["outcome"] == "stream_error"


def test_cut_stream_ends_without_its_end(serve: Serve) -> None:
    served, client = serve(fail_every=1, fail_kind="cut", fail_after_tokens=1)
    response = client.begin("/v1/completions", STREAM)
    with pytest.raises(http.client.IncompleteRead) as cut:
        response.read()
    assert b"token0" in cut.value.partial
    assert b"DONE" not in cut.value.partial
    assert served.log()[0]["output_tokens"] == 1


def test_cut_answer_that_is_not_streamed_misses_its_body(serve: Serve) -> None:
    _, client = serve(fail_every=1, fail_kind="cut")
    with pytest.raises(http.client.IncompleteRead):
        client.complete(stream=False)


@pytest.mark.parametrize("is_stream", [True, False])
def test_hang_before_headers_sends_nothing(serve: Serve, *, is_stream: bool) -> None:
    served, client = serve(fail_every=1, fail_kind="hang_before_headers")
    client.http.timeout = 0.1
    with pytest.raises(TimeoutError):
        client.complete(stream=is_stream)
    with Client(served.port) as other:
        assert other.metrics()["simulated_requests_running"] == 1
        client.http.close()
        while other.metrics()["simulated_requests_running"]:
            pass
    assert served.log()[0]["outcome"] == "client_gone"


def test_hang_after_headers_sends_headers_and_tokens_first(serve: Serve) -> None:
    served, client = serve(fail_every=1, fail_kind="hang_after_headers", fail_after_tokens=1)
    client.http.timeout = 0.2
    response = client.begin("/v1/completions", STREAM)
    assert response.status == 200
    assert b"token0" in response.readline()
    response.readline()
    with pytest.raises(TimeoutError):
        response.readline()
    response.close()
    assert served.log()[0]["output_tokens"] == 1


def test_script_injects_into_one_request(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    lines = [{}, {"failure": {"kind": "status", "status": 503}}, {"failure": "stream_error"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    served, client = serve(script=str(path))
    assert [client.complete().status for _ in range(4)] == [200, 503, 200, 200]
    assert [row["outcome"] for row in served.log()] == ["completed", "status", "stream_error", "completed"]


def test_client_that_leaves_frees_its_place(serve: Serve) -> None:
    served, client = serve(max_running=1, ttft_s=60.0)
    with Client(served.port) as leaver:
        leaver.http.request("POST", "/v1/completions", json.dumps(STREAM))
        while client.metrics()["simulated_requests_running"] == 0:
            pass
    while client.metrics()["simulated_requests_running"]:
        pass
    assert served.log()[0]["outcome"] == "client_gone"


@pytest.mark.parametrize(("first_chunk", "delta"), [("role", {"role": "assistant"}), ("empty", {"content": ""})])
def test_first_chunk_without_text_comes_before_the_first_token(serve: Serve, first_chunk: str, delta: object) -> None:
    served, client = serve(first_chunk=first_chunk, ttft_s=0.02)
    events = client.chat(max_tokens=1).events
    assert [event["choices"][0]["delta"] for event in events[:-1]] == [delta, {"content": " token0"}]
    (row,) = served.log()
    assert row["chunk_tokens"] == [0, 1]
    assert row["due_ns"] == [row["received_ns"], row["received_ns"] + 20_000_000]


def test_several_tokens_share_a_chunk(serve: Serve) -> None:
    served, client = serve(tokens_per_chunk=3)
    assert client.complete(max_tokens=7).texts == [
        " token0 token1 token2",
        " token3 token4 token5",
        " token6",
    ]
    assert served.log()[0]["chunk_tokens"] == [3, 3, 1]


def test_reasoning_comes_before_the_answer(serve: Serve) -> None:
    _, client = serve(reasoning_tokens=2)
    deltas = [event["choices"][0]["delta"] for event in client.chat(max_tokens=3).events[:-1]]
    assert deltas == [{"reasoning_content": " token0"}, {"reasoning_content": " token1"}, {"content": " token2"}]
    message = client.chat(max_tokens=3, stream=False).row["choices"][0]["message"]
    assert message == {"role": "assistant", "content": " token2", "reasoning_content": " token0 token1"}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("never", []), ("always", [(0, 2)]), ("with_last", [(1, 2)]), ("on_request", [(0, 2)])],
)
def test_usage_comes_where_it_was_told_to(serve: Serve, mode: str, expected: list[tuple[int, int]]) -> None:
    _, client = serve(usage=mode)
    asked = {} if mode == "always" else {"stream_options": {"include_usage": True}}
    events = client.complete(max_tokens=2, **asked).events[:-1]
    found = [(len(event["choices"]), event["usage"]["completion_tokens"]) for event in events if "usage" in event]
    assert found == expected


def test_comments_keep_the_stream_alive(serve: Serve) -> None:
    _, client = serve(ttft_s=0.09, keepalive_s=0.02)
    body = client.complete(max_tokens=1).body
    before, after = body.split(b"data: ", 1)
    assert before.count(b": keep-alive\n\n") == 4
    assert b"token0" in after


def test_health_is_503_at_first(serve: Serve) -> None:
    _, client = serve(unhealthy_s=0.1)
    seen = [client.get("/health").status]
    while seen[-1] == 503:
        seen.append(client.get("/health").status)
    assert seen[0] == 503
    assert seen[-1] == 200


def test_bytes_that_are_no_http_end_only_their_connection(serve: Serve) -> None:
    served, client = serve()
    with Client(served.port) as other:
        other.http.connect()
        other.http.sock.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        answer = b"".join(iter(lambda: other.http.sock.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert client.get("/health").status == 200
