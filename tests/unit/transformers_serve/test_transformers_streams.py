"""The streams were recorded from `transformers serve` 5.24; the model's path was replaced and one was cut short."""

from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.openai import Dialect, StreamScanner
from adapters.transformers_serve.adapter import TransformersAdapter

STREAMS = Path(__file__).parents[2] / "golden/streams/transformers"


class Seen(NamedTuple):
    chunks: int
    output_tokens: int | None
    input_tokens: int | None
    finish_reason: str | None
    may_end: bool


EXPECTED = {
    "completions-batched": Seen(6, 6, 5, "length", may_end=True),
    "chat-plain": Seen(6, 6, 33, "length", may_end=True),
    "completions-plain": Seen(6, 6, 5, "length", may_end=True),
    "completions-half_characters-several_tokens": Seen(4, 12, 32, "length", may_end=True),
    "completions-natural_stop-silent_tokens": Seen(12, 13, 12, "stop", may_end=True),
    "completions-past_the_end_token-silent_tokens": Seen(14, 16, 12, "length", may_end=True),
    "completions-error": Seen(2, None, None, None, may_end=False),
}


def scan(name: str) -> StreamScanner:
    scanner = Dialect(capabilities=TransformersAdapter.capabilities).scanner()
    for at_ns, line in enumerate((STREAMS / f"{name}.sse").read_bytes().splitlines(keepends=True), start=1):
        scanner.feed(line, at_ns)
    scanner.close(0)
    return scanner


@pytest.mark.parametrize("name", sorted(path.stem for path in STREAMS.glob("*.sse")))
def test_a_recorded_stream_is_read_whole(name: str) -> None:
    scanner = scan(name)
    usage = scanner.usage
    counts = (None, None) if usage is None else (usage.output_tokens, usage.input_tokens)
    assert Seen(len(scanner.chunk_ns), *counts, scanner.finish_reason, scanner.may_end) == EXPECTED[name]
    assert (scanner.malformed, scanner.done_ns) == (None, None)


def test_the_role_alone_is_no_token() -> None:
    assert scan("chat-plain").first_answer_ns == 4  # its first event ends with line 2


def test_a_worker_that_died_is_an_error_inside_the_stream() -> None:
    assert scan("completions-error").error == "No requests can be scheduled and no requests can be offloaded."
    assert scan("completions-batched").error is None
