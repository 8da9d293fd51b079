"""Voices: models of one server that answer each in a way of its own, and tapes that play bytes."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.simulated.options import Options
from adapters.simulated.tape import Tape, pieces
from adapters.simulated.voices import load
from tests.unit.simulated.plain_client import Client, Served

Serve = Callable[..., tuple[Served, Client]]
FAST = {"ttft_s": 0.0, "itl_s": 0.0}


def written(folder: Path, rows: object) -> str:
    path = folder / "voices.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return str(path)


def speaking(serve: Serve, folder: Path, **voice: object) -> Client:
    _, client = serve(voices=written(folder, {"it": FAST | voice}), **FAST)
    return client


def test_each_model_answers_in_its_own_way(serve: Serve, tmp_path: Path) -> None:
    rows = {"long": FAST | {"reply_tokens": 5}, "short": FAST | {"reply_tokens": 1, "usage": "never"}}
    _, client = serve(voices=written(tmp_path, rows), **FAST)
    assert [one["id"] for one in client.get("/v1/models").row["data"]] == ["simulated", "long", "short"]
    assert len("".join(client.complete(model="long").texts).split()) == 5
    assert len("".join(client.complete(model="short").texts).split()) == 1
    assert len("".join(client.complete(model="simulated").texts).split()) == 3


def test_a_length_that_was_not_asked_says_what_it_is(serve: Serve, tmp_path: Path) -> None:
    client = speaking(serve, tmp_path, reply_tokens=2)
    reasons = [event["choices"][0]["finish_reason"] for event in client.complete(model="it").events[:-1]]
    assert reasons == [None, "stop"]
    reasons = [event["choices"][0]["finish_reason"] for event in client.complete(model="it", max_tokens=1).events[:-1]]
    assert reasons == [None, "length"]


def test_ids_come_with_the_tokens_that_begin_in_a_chunk(serve: Serve, tmp_path: Path) -> None:
    client = speaking(serve, tmp_path, tokens_per_chunk=2, output_ids="each_chunk")
    ids = [event["choices"][0]["token_ids"] for event in client.complete(model="it").events[:-1]]
    assert ids == [[0, 1], [2]]


def test_a_tool_is_called_with_the_last_tokens_of_a_chat(serve: Serve, tmp_path: Path) -> None:
    client = speaking(serve, tmp_path, tool_call_tokens=2)
    deltas = [event["choices"][0]["delta"] for event in client.chat(model="it").events[:-1]]
    assert deltas[0] == {"content": " token0"}
    assert [one["tool_calls"][0]["function"]["arguments"] for one in deltas[1:]] == [" token1", " token2"]


@pytest.mark.parametrize(("mode", "expected"), [("with_first", [1, None, None]), ("each_chunk", [1, 2, 3])])
def test_usage_counts_the_tokens_so_far(serve: Serve, tmp_path: Path, mode: str, expected: list[int | None]) -> None:
    client = speaking(serve, tmp_path, usage=mode)
    events = client.complete(model="it").events[:-1]
    assert [event["usage"]["completion_tokens"] if "usage" in event else None for event in events] == expected


def test_a_busy_server_says_when_to_come_again(serve: Serve, tmp_path: Path) -> None:
    client = speaking(serve, tmp_path, failure={"kind": "status", "status": 429, "retry_after_s": 7})
    answer = client.begin("/v1/completions", {"prompt": "a", "model": "it", "stream": True})
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    answer.read()


def test_a_tape_is_played_as_it_is_and_logged_by_its_bytes(serve: Serve, tmp_path: Path) -> None:
    tape = {"text": "anything at all \udcff", "http_chunk_bytes": 5, "write_bytes": 3, "content_type": "text/plain"}
    served, client = serve(voices=written(tmp_path, {"it": {"tape": tape}}))
    answer = client.begin("/v1/completions", {"prompt": "a", "model": "it", "stream": True})
    assert answer.headers["content-type"] == "text/plain"
    assert answer.read() == b"anything at all \xff"
    client.http.close()
    (row,) = served.log()
    assert row["body_bytes"][-1] == 17
    assert len(row["body_bytes"]) == len(row["sent_ns"])
    assert row["outcome"] == "completed"


@given(st.binary(min_size=1, max_size=60), st.integers(0, 9), st.integers(0, 9))
def test_a_tape_loses_nothing_however_it_is_cut(body: bytes, http_chunk_bytes: int, write_bytes: int) -> None:
    played = list(pieces(Tape(body, http_chunk_bytes=http_chunk_bytes, write_bytes=write_bytes)))
    assert unframed(b"".join(piece.data for piece in played)) == body
    gone = [piece.body_bytes for piece in played]
    assert gone == sorted(gone)
    assert gone[-1] == len(body)
    assert write_bytes == 0 or max(len(piece.data) for piece in played) <= write_bytes


def unframed(raw: bytes) -> bytes:
    body = b""
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        body, raw = body + raw[: int(size, 16)], raw[int(size, 16) + 2 :]
    return body


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "expected an object of model names"),
        ({"it": {"speed": 1}}, "it: expected an object with keys among"),
        ({"it": {"itl_s": -1}}, "it: itl_s: expected numbers of at least 0"),
        ({"it": {"chunks_per_token": 0}}, "it: --chunks-per-token 0"),
        ({"it": {"tape": {"speed": 1}}}, "it: tape: expected a path or a text"),
        ({"it": {"tape": {"text": "a", "gap_s": -1}}}, "it: tape: gap_s: expected seconds"),
    ],
)
def test_a_bad_voice_is_named(tmp_path: Path, rows: object, says: str) -> None:
    with pytest.raises(ValueError, match=r"voices\.json") as refusal:
        load(replace(Options(), voices=written(tmp_path, rows)))
    assert says in str(refusal.value)
