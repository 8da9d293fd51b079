"""How requests travel: a Unix socket, big bodies on the direct path, connections that the machine cannot make."""

import asyncio
import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.openai import Dialect
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ClientPath, ReplayLog, RequestFailure
from orchestrator.replay import PreparedRequest, Timing, replay_open
from orchestrator.replay.target import parse_target, resolve
from tests.unit.replay.scripted_server import answer, event, prepared, serving, stream

TIMING = Timing(0, 0.05, 5, 5)


def run(endpoint: Endpoint, requests: tuple[PreparedRequest, ...] = prepared(2)) -> ReplayLog:
    return replay_open(requests, endpoint, load=OpenLoad(rate_rps=20), timing=TIMING)


@contextmanager
def unix_serving(path: Path) -> Iterator[list[bytes]]:
    """Answer two tokens to each request on a Unix socket; yields the heads that came."""
    heads: list[bytes] = []
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            heads.append(head)
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            writer.write(stream(event("a"), event("b")))

    async def main() -> None:
        listening = await asyncio.start_unix_server(serve, path)
        ready.set()
        await stop.wait()
        listening.close()

    def run_loop() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            loop.set_exception_handler(lambda *_: None)
            runner.run(main())

    thread = threading.Thread(target=run_loop)
    thread.start()
    assert ready.wait(5)
    try:
        yield heads
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(5)


@pytest.mark.parametrize("shape", ["unix://{}", "http+unix://{quoted}"])
def test_a_unix_socket_is_a_path_of_its_own(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "engine.sock"
    url = shape.format(path, quoted=str(path).replace("/", "%2F"))
    with unix_serving(path) as heads:
        log = run(Endpoint(url, "m"))
    assert log.path is ClientPath.UNIX
    assert [(one.failure, one.output_tokens_client) for one in log.records] == [(None, 2)] * 2
    assert heads[0].startswith(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n")


def test_a_unix_socket_that_nobody_serves_is_refused(tmp_path: Path) -> None:
    log = run(Endpoint(f"unix://{tmp_path}/none.sock", "m"))
    assert {one.failure for one in log.records} == {RequestFailure.REFUSED}


@pytest.mark.parametrize("url", ["unix://", "http+unix://", "unix://host/x.sock", "unix:///x.sock?a=b"])
def test_what_names_no_socket_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="URL"):
        parse_target(Endpoint(url, "m"), Dialect())


def test_http_is_the_direct_path() -> None:
    target = parse_target(Endpoint("http://127.0.0.1:1/x/", "m"), Dialect())
    assert (target.client_path, target.path) == (ClientPath.DIRECT, "/x/v1/completions")
    assert resolve(target).socket_address == ("127.0.0.1", 1)


def test_a_body_larger_than_the_sockets_buffer_arrives_whole() -> None:
    body = b" " * (16 << 20) + b"{}"
    with serving(answer, limit=1 << 25) as server:
        log = run(server.endpoint, (PreparedRequest(0, 0, body, 1, 2),))
    assert log.records[0].failure is None
    assert server.calls[0].body == body


@pytest.mark.parametrize(("code", "said"), [(errno.EADDRNOTAVAIL, "no local port"), (errno.EMFILE, "ulimit -n")])
def test_what_the_machine_lacks_is_said(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    async def dial(*_: object) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr("orchestrator.replay.client.dial", dial)
    with serving(answer) as server:
        log = run(server.endpoint)
    assert {one.failure for one in log.records} == {RequestFailure.REFUSED}
    assert all(said in (one.failure_detail or "") for one in log.records)


def test_the_loops_own_transports_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.replay.client.sys.platform", "other")
    with serving(answer) as server:
        log = run(server.endpoint)
    assert [(one.failure, one.output_tokens_client) for one in log.records] == [(None, 2)] * 2
