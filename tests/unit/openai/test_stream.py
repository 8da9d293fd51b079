import json

import pytest

from adapters.openai import StreamScanner, Usage

DONE = b"data: [DONE]\n\n"


def event(row: object) -> bytes:
    return b"data: " + json.dumps(row).encode() + b"\n\n"


def text(value: str, **choice: object) -> bytes:
    return event({"id": "x", "choices": [{"index": 0, "text": value, "finish_reason": None, **choice}]})


def delta(**fields: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": None}]})


def scan(*chunks: bytes, sends_done: bool = True) -> StreamScanner:
    scanner = StreamScanner(sends_done=sends_done)
    for now_ns, chunk in enumerate(chunks, start=1):
        scanner.feed(chunk, now_ns)
    scanner.close(len(chunks) + 1)
    return scanner


def test_the_first_token_is_the_first_non_empty_output() -> None:
    scanner = scan(b": hello\n\n", delta(role="assistant", content=""), delta(content=None), delta(content="Hi"), DONE)
    assert scanner.chunk_ns.tolist() == [4]
    assert (scanner.first_answer_ns, scanner.first_reasoning_ns, scanner.output_tokens) == (4, None, 1)
    assert (scanner.done_ns, scanner.may_end) == (5, True)


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_counts_as_output_and_is_told_apart(name: str) -> None:
    scanner = scan(delta(**{name: "hm"}), delta(**{name: "so", "content": ""}), delta(content="4"), DONE)
    assert scanner.chunk_ns.tolist() == [1, 2, 3]
    assert (scanner.first_reasoning_ns, scanner.first_answer_ns) == (1, 3)


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}, 1),
        ({"function_call": {"name": "f"}}, 1),
        ({"refusal": "no"}, 1),
        ({"tool_calls": []}, 0),
        ({"tool_calls": [{}], "content": ""}, 0),
    ],
)
def test_tool_calls_and_refusals_are_answers(fields: dict, counts: int) -> None:
    assert len(scan(delta(**fields), DONE).chunk_ns) == counts


def test_token_ids_are_counted_where_the_stream_has_them() -> None:
    scanner = scan(text("ab", token_ids=[1, 2, 3]), text("", token_ids=[9]), text("c", token_ids=[4]), DONE)
    assert scanner.output_tokens == 5
    assert scanner.chunk_ns.tolist() == [1, 3]
    assert scanner.chunk_tokens.tolist() == [3, 2]


def test_tokens_after_the_last_text_belong_to_no_chunk() -> None:
    scanner = scan(text("a", token_ids=[1]), text("", token_ids=[2], finish_reason="stop"), DONE)
    assert (scanner.output_tokens, scanner.chunk_tokens.tolist()) == (1, [1])


def test_chunks_tell_their_tokens_only_where_all_do() -> None:
    assert scan(text("a", token_ids=[1, 2]), text("b"), DONE).chunk_tokens is None
    assert scan(text("a"), text("b"), DONE).chunk_tokens is None


def test_usage_needs_no_choices() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
    assert scan(text("a"), event({"choices": [], "usage": usage}), DONE).usage == Usage(7, 1, 4)
    assert scan(event({"usage": usage | {"prompt_tokens_details": None}}), DONE).usage == Usage(7, 1, None)
    assert scan(event({"usage": {"prompt_tokens": True}}), DONE).usage == Usage(None, None, None)


def test_llama_cpp_tells_cached_tokens_in_its_timings() -> None:
    row = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}, "timings": {"cache_n": 5}}
    assert scan(event(row), DONE).usage == Usage(7, 1, 5)


@pytest.mark.parametrize(
    "chunk",
    [
        event({"error": {"message": "boom", "code": 500}}),
        event({"error": "boom"}),
        event({"object": "error", "message": "boom", "code": 400}),
        b"event: error\ndata: boom\n\n".replace(b"boom", b'{"detail": "boom"}'),
        b'error: {"message": "boom"}\n\n',
    ],
)
def test_an_error_inside_the_stream_is_seen(chunk: bytes) -> None:
    assert "boom" in (scan(text("a"), chunk, DONE).error or "")


def test_data_with_and_without_space_crlf_comments_and_other_fields() -> None:
    body = text("a").replace(b"data: ", b"data:").replace(b"\n", b"\r\n")
    scanner = scan(b": ping\r\n\r\n", b"id: 4\r\nretry: 10\r\n" + body, b"data:[DONE]\r\n\r\n")
    assert (scanner.chunk_ns.tolist(), scanner.done_ns) == ([2], 3)


def test_an_event_over_several_data_lines_is_joined() -> None:
    assert scan(b'data: {"choices": [{"text":\ndata: "a"}]}\n\n', DONE).chunk_ns.tolist() == [1]


def test_an_event_has_the_time_of_its_last_byte() -> None:
    whole = text("a")
    assert scan(whole[:10], whole[10:-1], whole[-1:]).chunk_ns.tolist() == [3]


def test_events_in_one_piece_share_its_time() -> None:
    assert scan(text("a") + text("b") + DONE).chunk_ns.tolist() == [1, 1]


@pytest.mark.parametrize("tail", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r\n"])
def test_done_counts_without_its_empty_line(tail: bytes) -> None:
    assert scan(text("a"), tail).done_ns == 3


def test_half_an_event_at_the_end_counts_for_nothing() -> None:
    scanner = scan(text("a"), text("b")[:-1])
    assert (scanner.chunk_ns.tolist(), scanner.may_end) == ([1], False)


def test_without_done_a_finish_reason_allows_the_end() -> None:
    pieces = (text("a"), text("b", finish_reason="stop"))
    assert scan(*pieces, sends_done=False).may_end
    assert not scan(*pieces).may_end
    assert not scan(pieces[0], sends_done=False).may_end


@pytest.mark.parametrize("data", [b"nope", b"[1]", b'{"a":', b"\xff", b"[" * 100_000, b'{"choices": "\x01"}'])
def test_what_is_no_json_object_is_malformed(data: bytes) -> None:
    assert scan(b"data: " + data + b"\n\n", DONE).malformed


def test_an_endless_line_is_malformed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.openai.stream.MAX_LINE_BYTES", 100)
    assert "100 bytes" in (scan(b"data: " + b"x" * 200).malformed or "")


def test_nothing_counts_after_done() -> None:
    assert scan(text("a"), DONE, text("b")).chunk_ns.tolist() == [1]


def test_equal_frames_are_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scanner = scan(text("a"))
    monkeypatch.setattr("adapters.openai.memo.read_event", lambda _: pytest.fail("parsed"))
    scanner.feed(text("longer, with spaces"), 2)
    assert scanner.chunk_ns.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("data", "outputs"),
    [
        (b'{"choices":[{"text":"","y":"b","z":1}]}', 0),
        (b'{"choices":[{"text":"","z":1}]}', 0),
        (b'{"choices":[{"text":"\\u0000","z":1}]}', 1),
        (b'{"choices":[{"text":"b","z":1}],"error":"e"}', 1),
        (b'{"choices":[{"text":"b\x01","z":1}]}', 0),
        (b'{"choices":[{"text":"b\xff","z":1}]}', 0),
    ],
)
def test_a_frame_is_no_guess(data: bytes, outputs: int) -> None:
    scanner = scan(b'data: {"choices":[{"text":"a","z":1}]}\n\n', b"data: " + data + b"\n\n")
    assert len(scanner.chunk_ns) == 1 + outputs
