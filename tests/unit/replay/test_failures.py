"""Every way a request can fail, told apart, and none of them a success."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable

import pytest

from adapters.openai import Dialect
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.replay import Timing, replay_open
from tests.unit.replay.scripted_server import END, HEAD, Call, answer, chunked, event, prepared, serving, stream

QUICK = Timing(warmup_s=0, measure_s=0.03, drain_s=2, request_timeout_s=1)
Script = Callable[[Call], Awaitable[bool | None]]


def one(endpoint: Endpoint, timing: Timing = QUICK, dialect: Dialect | None = None) -> RequestRecord:
    dialect = dialect or Dialect()
    log = replay_open(prepared(1, dialect=dialect), endpoint, load=OpenLoad(rate_rps=1), timing=timing, dialect=dialect)
    (record,) = log.records
    return record


def saying(data: bytes, *, stays: bool = False) -> Script:
    async def script(call: Call) -> bool:
        call.writer.write(data)
        if stays:
            await call.writer.drain()
            await asyncio.Event().wait()
        return False

    return script


def html(status: str) -> bytes:
    body = b"<html>Bearer s3cret-key, Bearer an0ther</html>"
    return f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def json_answer(row: dict) -> bytes:
    body = json.dumps(row).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def test_a_whole_answer_is_no_failure() -> None:
    with serving(answer) as server:
        record = one(server.endpoint)
    assert (record.failure, record.http_status, len(record.chunk_ns)) == (None, 200, 2)
    assert (record.input_tokens_server, record.output_tokens_server, record.cached_tokens_server) == (3, 2, 1)
    assert record.intended_ns <= record.dispatched_ns <= record.sent_ns <= record.first_ns <= record.end_ns
    assert (record.input_tokens, record.output_tokens_asked, record.output_tokens_client) == (3, 2, 2)


ERROR = b'data: {"error": {"message": "out of blocks"}}\n\n'
CASES = {
    "status": (html("503 Busy"), RequestFailure.HTTP_STATUS, "503: <html>"),
    "status, cut": (html("500 Oops")[:-5], RequestFailure.HTTP_STATUS, "500: <html>"),
    "redirect": (html("302 Found"), RequestFailure.HTTP_STATUS, "302"),
    "error in stream": (stream(event(), ERROR), RequestFailure.STREAM_ERROR, "out of blocks"),
    "error, then cut": (HEAD + chunked(event() + ERROR), RequestFailure.STREAM_ERROR, "out of blocks"),
    "cut after tokens": (HEAD + chunked(event()), RequestFailure.CUT_STREAM, "closed"),
    "cut after head": (HEAD, RequestFailure.CUT_STREAM, "closed"),
    "cut in the head": (HEAD[:20], RequestFailure.CUT_STREAM, "closed"),
    "no answer": (b"", RequestFailure.CUT_STREAM, "closed"),
    "no [DONE]": (stream(event(), done=b": bye\n\n"), RequestFailure.CUT_STREAM, "[DONE]"),
    "html": (html("200 OK"), RequestFailure.BAD_RESPONSE, "event stream"),
    "json": (json_answer({"choices": [{"text": "a"}]}), RequestFailure.BAD_RESPONSE, "event stream"),
    "no events": (stream(b"hello", done=b"there"), RequestFailure.BAD_RESPONSE, "hello"),
    "bad json": (stream(event(), b"data: {nope\n\n"), RequestFailure.BAD_RESPONSE, "nope"),
    "no http": (b"SSH-2.0-OpenSSH\r\n", RequestFailure.BAD_RESPONSE, "not HTTP"),
    "bad chunk": (HEAD + b"zz\r\n", RequestFailure.BAD_RESPONSE, "not HTTP"),
    "silence": (stream(event(""), event("", usage=None)), RequestFailure.EMPTY_OUTPUT, "token"),
}


@pytest.mark.parametrize(("data", "failure", "detail"), CASES.values(), ids=CASES)
def test_kinds_are_told_apart(data: bytes, failure: RequestFailure, detail: str) -> None:
    with serving(saying(data)) as server:
        record = one(server.endpoint)
    assert record.failure is failure
    assert detail in (record.failure_detail or "")
    assert record.output_tokens is None
    assert "s3cret" not in repr(record)
    assert "an0ther" not in repr(record)
    assert len(record.failure_detail or "") <= 200


def test_an_answer_cut_after_done_is_whole() -> None:
    with serving(saying(stream(event())[: -len(END)])) as server:
        assert one(server.endpoint).failure is None


def test_without_done_a_finish_reason_and_a_whole_message_are_the_end() -> None:
    dialect = Dialect(capabilities=Capabilities(sends_done=False))
    last = b'data: {"choices": [{"text": "b", "finish_reason": "stop"}]}\n\n'
    with serving(saying(stream(event(), done=last))) as server:
        assert one(server.endpoint, dialect=dialect).failure is None
    with serving(saying(stream(event(), done=last)[: -len(END)])) as server:
        assert one(server.endpoint, dialect=dialect).failure is RequestFailure.CUT_STREAM
    unframed = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + event() + last
    with serving(saying(unframed)) as server:
        assert one(server.endpoint, dialect=dialect).failure is None


def test_an_interim_answer_is_not_the_answer() -> None:
    with serving(saying(b"HTTP/1.1 100 Continue\r\n\r\n" + stream(event()))) as server:
        record = one(server.endpoint)
    assert (record.failure, record.http_status) == (None, 200)


def test_nobody_there_is_refused() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        record = one(Endpoint(f"http://127.0.0.1:{unheard.getsockname()[1]}", "m"))
    assert record.failure is RequestFailure.REFUSED
    assert record.sent_ns is None


@pytest.mark.parametrize("data", [b"", HEAD, HEAD + chunked(event())])
def test_an_answer_that_does_not_end_times_out(data: bytes) -> None:
    with serving(saying(data, stays=True)) as server:
        record = one(server.endpoint, Timing(0, 0.03, 2, 0.1))
    assert record.failure is RequestFailure.TIMEOUT
    assert 0.1e9 <= record.end_ns - record.dispatched_ns < 1e9


def test_what_the_drain_does_not_see_is_cancelled() -> None:
    with serving(saying(b"", stays=True)) as server:
        record = one(server.endpoint, Timing(0, 0.03, 0.05, 30))
    assert record.failure is RequestFailure.CANCELLED


def test_an_answer_that_said_done_but_holds_its_message_open_counts() -> None:
    with serving(saying(stream(event())[: -len(END)], stays=True)) as server:
        record = one(server.endpoint, Timing(0, 0.03, 0.1, 30))
    assert record.failure is None
    assert record.end_ns - record.dispatched_ns < 0.1e9
