"""The stream scanner reads what SGLang and TensorRT-LLM send.

The transcripts were written from the engines' sources, not recorded from a run: see the README beside them.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from adapters import registry
from adapters.openai import StreamScanner, Usage

STREAMS = Path(__file__).parent / "streams"
END = b"\n\n"
ENGINES = ("sglang", "trtllm")


class Seen(NamedTuple):
    """What a stream must be read as; a position counts its events from 1."""

    first_answer: int | None
    first_reasoning: int | None
    output_tokens: int
    usage: Usage | None
    finish_reason: str | None
    done: int | None
    error: str | None


EXPECTED = {
    "sglang/completions-plain": Seen(1, None, 4, Usage(6, 4, 5), "length", 6, None),
    "sglang/chat-silent_tokens": Seen(2, None, 4, Usage(14, 5, 0), "stop", 8, None),
    "sglang/chat-reasoning-several_tokens": Seen(4, 2, 3, Usage(14, 6, 8), "stop", 7, None),
    "sglang/completions-error": Seen(1, None, 1, Usage(6, 1, 0), None, 4, "Request waiting timeout reached."),
    "trtllm/completions-silent_tokens": Seen(1, None, 3, Usage(6, 4, 0), "length", 6, None),
    "trtllm/chat-plain": Seen(2, None, 4, Usage(14, 4, 0), "stop", 7, None),
    "trtllm/chat-reasoning-several_tokens": Seen(4, 2, 3, Usage(14, 6, 8), "stop", 6, None),
    "trtllm/completions-cut": Seen(1, None, 2, None, None, None, None),
}
CASES = pytest.mark.parametrize("name", EXPECTED)


def events(name: str) -> list[bytes]:
    return [one + END for one in (STREAMS / f"{name}.sse").read_bytes().split(END) if one]


def scanner_of(name: str) -> StreamScanner:
    engine = name.partition("/")[0]
    return StreamScanner(sends_done=registry.get(engine).capabilities.sends_done)


def seen(scanner: StreamScanner) -> Seen:
    return Seen(
        scanner.first_answer_ns,
        scanner.first_reasoning_ns,
        scanner.output_tokens,
        scanner.usage,
        scanner.finish_reason,
        scanner.done_ns,
        scanner.error,
    )


def test_every_transcript_has_an_expectation() -> None:
    paths = [path for engine in ENGINES for path in (STREAMS / engine).glob("*.sse")]
    assert {f"{path.parent.name}/{path.stem}" for path in paths} == set(EXPECTED)


@CASES
def test_a_transcript_is_read_as_what_it_says(name: str) -> None:
    scanner = scanner_of(name)
    for now_ns, event in enumerate(events(name), start=1):
        scanner.feed(event, now_ns)
    scanner.close(len(events(name)) + 1)
    assert seen(scanner) == EXPECTED[name]
    assert scanner.malformed is None


@CASES
def test_bytes_that_come_one_by_one_say_the_same(name: str) -> None:
    scanner = scanner_of(name)
    for position, event in enumerate(events(name), start=1):
        for byte in event:
            scanner.feed(bytes([byte]), position)
    assert seen(scanner) == EXPECTED[name]


@CASES
def test_a_stream_may_end_only_where_it_says_so(name: str) -> None:
    scanner = scanner_of(name)
    for now_ns, event in enumerate(events(name), start=1):
        assert scanner.may_end is False, f"before event {now_ns}"
        scanner.feed(event, now_ns)
    assert scanner.may_end is (EXPECTED[name].done is not None)
