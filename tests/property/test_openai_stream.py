"""Whatever the events and wherever the bytes are cut, the scanner sees what a plain JSON reader sees."""

import json
from array import array
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.openai import EventMemo, StreamScanner, Usage
from adapters.openai.event import Event, read_event

TEXTS = st.text(max_size=6) | st.sampled_from(
    ["", '"', "\\", '"content":"x"', '"text": "', "\n\n", "é", "日本", "data: ", "[DONE]", "}]}", " ", "\x7f"]
)
MAYBE = st.none() | TEXTS
DELTAS = st.fixed_dictionaries(
    {}, optional={"role": MAYBE, "content": MAYBE, "reasoning_content": MAYBE, "reasoning": MAYBE, "refusal": MAYBE}
)
CHOICES = st.fixed_dictionaries(
    {"index": st.just(0)},
    optional={
        "text": MAYBE,
        "delta": DELTAS,
        "token_ids": st.none() | st.lists(st.integers(0, 9), max_size=3),
        "finish_reason": st.sampled_from([None, None, "stop"]),
    },
)
USAGES = st.none() | st.fixed_dictionaries({"prompt_tokens": st.integers(0, 9), "completion_tokens": st.integers(0, 9)})
FREE_ROWS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, max_size=2)},
    optional={"usage": USAGES, "error": st.none() | st.just({"message": "boom"}), "meta": st.just({"content": "m"})},
)


@st.composite
def framed_rows(draw: st.DrawFn) -> list[dict]:
    """Rows that differ in one text only, as a server sends them, with a few others among them."""
    key = draw(st.sampled_from(["text", "content", "reasoning_content"]))
    rows = []
    for value in draw(st.lists(TEXTS, max_size=8)):
        choice = {"index": 0, "text": value} if key == "text" else {"index": 0, "delta": {key: value}}
        rows.append({"id": "x", "choices": [{**choice, "finish_reason": None}], "usage": None})
    return rows


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[bytes], bytes]:
    """Events' data and the bytes that carry them."""
    rows = draw(framed_rows() | st.lists(FREE_ROWS | st.just({}), max_size=8))
    is_ascii, separators = draw(st.booleans()), draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    data = [json.dumps(row, ensure_ascii=is_ascii, separators=separators).encode(errors="replace") for row in rows]
    prefix = draw(st.sampled_from([b"data: ", b"data:"]))
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    body = b""
    for one in data:
        body += (b": ping" + end + end) * draw(st.integers(0, 1)) + prefix + one + end + end
    return data, body + prefix + b"[DONE]" + end + end


def carried_tokens(events: list[Event]) -> list[int]:
    """Share tokens out over chunks: ids without text wait for the next text."""
    carried, waiting = [], 0
    for event in events:
        waiting += int(event.is_output) if event.tokens is None else event.tokens
        if event.is_output:
            carried.append(waiting)
            waiting = 0
    return carried


def last_usage(events: list[Event]) -> Usage | None:
    """Return the last usage; its count of output is the whole only where no output came after it."""
    at = max((at for at, event in enumerate(events) if event.usage), default=None)
    usage = None if at is None else events[at].usage
    if at is None or usage is None or not any(event.is_output for event in events[at + 1 :]):
        return usage
    return usage._replace(output_tokens=None)


FACTS = (
    "chunk_ns",
    "chunk_tokens",
    "output_tokens",
    "event_count",
    "usage",
    "error",
    "malformed",
    "finish_reason",
    "first_answer_ns",
    "first_reasoning_ns",
    "done_ns",
    "may_end",
)


def facts(scanner: StreamScanner) -> list[object]:
    return [getattr(scanner, name) for name in FACTS]


@st.composite
def pieces(draw: st.DrawFn) -> list[bytes]:
    """A stream as a server writes it, one event a piece, with some pieces cut and some written together."""
    _, body = draw(streams())
    found = [one + b"\n\n" for one in body.split(b"\n\n")]
    out: list[bytes] = []
    for piece in found[:-1]:
        at = draw(st.sampled_from([0, 0, 0, 0, 0, 1, len(piece) - 1, len(piece) // 2]))
        out += [piece] if not at else [piece[:at], piece[at:]]
        if len(out) > 1 and draw(st.integers(0, 6)) == 0:
            out[-2:] = [out[-2] + out[-1]]
    return out


@given(st.lists(pieces(), min_size=1, max_size=3), st.data())
@settings(deadline=None)
def test_batches_see_what_single_pieces_show(answers: list[list[bytes]], data: st.DataObject) -> None:
    memo = EventMemo()
    for answer in answers:
        batched, single = StreamScanner(memo=memo), StreamScanner()
        times = list(range(1, len(answer) + 1))
        cuts = sorted({0, len(answer), *data.draw(st.lists(st.integers(0, len(answer)), max_size=4))})
        for start, end in pairwise(cuts):
            batched.feed_all(answer[start:end], times[start:end])
        for piece, now_ns in zip(answer, times, strict=True):
            single.feed(piece, now_ns)
        batched.close(99)
        single.close(99)
        assert facts(batched) == facts(single)


@given(FREE_ROWS | st.dictionaries(st.sampled_from(["id", "text", "error", "created", "choices"]), MAYBE), st.data())
@settings(deadline=None)
def test_a_remembered_shape_says_what_json_says(row: dict, data: st.DataObject) -> None:
    memo = EventMemo()
    known = {"id": data.draw(TEXTS), "created": data.draw(st.integers(-1, 10**20)), **row}
    other = {**known, "id": data.draw(TEXTS), "created": data.draw(st.integers(-1, 10**20))}
    for choice in other.get("choices") or []:
        if isinstance(choice, dict) and isinstance(choice.get("text"), str):
            choice["text"] = data.draw(TEXTS)
    for one in (known, other):
        payload = json.dumps(one).encode()
        assert memo.read(payload)[0] == read_event(payload)
        assert memo.read(payload)[0] == read_event(payload)


@given(streams(), st.lists(st.integers(min_value=0), max_size=20))
@settings(deadline=None)
def test_scanner_equals_a_plain_reader(stream: tuple[list[bytes], bytes], places: list[int]) -> None:
    data, body = stream
    cuts = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    scanner = StreamScanner()
    for start, end in pairwise(cuts):
        scanner.feed(body[start:end], end)

    events = [read_event(one) for one in data]
    outputs = [one for one in events if one.is_output]
    assert len(scanner.chunk_ns) == len(outputs)
    assert list(scanner.chunk_ns) == sorted(scanner.chunk_ns)
    assert scanner.output_tokens == sum(carried_tokens(events))
    tells = bool(outputs) and all(one.tokens is not None for one in outputs)
    assert scanner.chunk_tokens == (array("q", carried_tokens(events)) if tells else None)
    assert scanner.event_count == len(events) + 1
    assert scanner.usage == last_usage(events)
    assert scanner.error == next((one.error for one in events if one.error), None)
    assert scanner.finish_reason == next((one.finish_reason for one in reversed(events) if one.finish_reason), None)
    assert (scanner.first_answer_ns is None) == (not any(one.has_answer for one in events))
    assert (scanner.first_reasoning_ns is None) == (not any(one.has_reasoning for one in events))
    assert scanner.malformed is None
    assert scanner.done_ns == len(body)


@given(st.binary(max_size=60) | st.lists(st.sampled_from([b"data: ", b"\n", b"\r", b"{", b"[DONE]"])).map(b"".join))
@settings(deadline=None)
def test_no_bytes_break_the_scanner(body: bytes) -> None:
    whole, split = StreamScanner(), StreamScanner()
    whole.feed(body, 1)
    for at in range(len(body)):
        split.feed(body[at : at + 1], 1)
    whole.close(1)
    split.close(1)
    names = ("chunk_ns", "output_tokens", "event_count", "usage", "error", "malformed", "done_ns")
    assert [getattr(whole, name) for name in names] == [getattr(split, name) for name in names]
