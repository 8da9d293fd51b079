import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.replay.question import ask
from orchestrator.replay.server import served_models, server_kind
from tests.unit.replay.scripted_server import Call, serving


@pytest.fixture
def unix_server(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "server.sock"
    body = json.dumps({"data": [{"id": "m", "owned_by": "vllm"}]}).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"unix:{path}"
        thread.join(5)


def test_a_server_behind_a_unix_socket_answers(unix_server: str) -> None:
    assert served_models(unix_server) == ["m"]


def test_a_body_that_ends_with_the_connection_is_whole() -> None:
    async def script(call: Call) -> bool:
        call.writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it")
        await call.writer.drain()
        call.writer.close()
        return False

    with serving(script) as server:
        assert ask(server.endpoint.base_url, "/", None).body == b"all of it"


def test_a_body_cut_short_is_no_answer() -> None:
    async def script(call: Call) -> bool:
        call.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await call.writer.drain()
        call.writer.close()
        return False

    with serving(script) as server, pytest.raises(ValueError, match="before the answer was whole"):
        ask(server.endpoint.base_url, "/", None)


def test_what_is_no_http_is_said() -> None:
    async def script(call: Call) -> bool:
        call.writer.write(b"SSH-2.0-OpenSSH\r\n")
        return False

    with serving(script) as server, pytest.raises(ValueError, match="not HTTP"):
        ask(server.endpoint.base_url, "/", None)


def test_an_interim_answer_is_passed_over() -> None:
    async def script(call: Call) -> bool:
        call.writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        return False

    with serving(script) as server:
        answer = ask(server.endpoint.base_url, "/", None)
    assert (answer.status, answer.body) == (200, b"ok")


@pytest.mark.parametrize(
    ("text", "kind"), [("sglang:num_running_reqs 0\n", "sglang"), ("trtllm_num_requests_running 0\n", "trtllm")]
)
def test_an_engine_is_known_by_its_series(text: str, kind: str) -> None:
    async def script(call: Call) -> bool:
        body = text.encode() if b"/metrics" in call.head else b'{"data": [{"id": "m"}]}'
        call.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        return False

    with serving(script) as server:
        assert server_kind(server.endpoint.base_url) == kind
