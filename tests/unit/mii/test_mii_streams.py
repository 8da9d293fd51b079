"""Streams recorded from MII's own HTTP layer (tests/engines/test_mii_http_layer.py), read as the client reads them."""

from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.mii.adapter import MiiAdapter
from adapters.openai import StreamScanner

STREAMS = Path(__file__).parents[2] / "golden" / "streams" / "mii"


class Said(NamedTuple):
    """What a stream must be understood to say."""

    outputs: int
    events: int
    finish_reason: str | None
    may_end: bool


EXPECTED = {
    "completions-count": Said(3, 6, "stop", may_end=True),  # a chunk without text in the middle, one at the end
    "chat-count": Said(3, 7, "stop", may_end=True),  # a chunk with a role only before them
    "completions-length": Said(2, 4, "length", may_end=True),
    "chat-silent": Said(0, 3, "stop", may_end=True),
    "completions-cut": Said(1, 1, None, may_end=False),  # the rank failed; nothing came for as long as was waited
}


def scan(name: str) -> StreamScanner:
    """Feed a stream event by event; the clock counts events."""
    scanner = StreamScanner(sends_done=MiiAdapter.capabilities.sends_done)
    events = (STREAMS / f"{name}.sse").read_bytes().split(b"\n\n")
    for count, event in enumerate(events[:-1]):
        scanner.feed(event + b"\n\n", count)
    scanner.close(len(events))
    return scanner


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_stream_says_what_the_engine_meant(name: str) -> None:
    seen = scan(name)
    assert Said(seen.output_tokens, seen.event_count, seen.finish_reason, seen.may_end) == EXPECTED[name]
    assert (seen.usage, seen.error, seen.malformed) == (None, None, None)


def test_every_recorded_stream_is_expected() -> None:
    assert {path.stem for path in STREAMS.glob("*.sse")} == set(EXPECTED)


@pytest.mark.parametrize(
    ("name", "first", "chunks"), [("completions-count", 0, [0, 2, 3]), ("chat-count", 1, [1, 3, 4])]
)
def test_chunks_without_text_are_no_tokens(name: str, first: int, chunks: list[int]) -> None:
    seen = scan(name)
    assert seen.first_answer_ns == first
    assert list(seen.chunk_ns) == chunks
