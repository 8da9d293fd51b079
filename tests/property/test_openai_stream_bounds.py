"""No body makes the scanner keep more than a bound, nor work more than its bytes are worth."""

import tracemalloc

import pytest

from adapters.openai import StreamScanner, Usage
from adapters.openai.stream import MAX_EVENT_BYTES, MAX_LINE_BYTES

PIECE = 1 << 16
USAGE = b'"usage":{"prompt_tokens":3,"completion_tokens":%d}'
OUTPUT = b'data: {"choices":[{"text":"a"}]%b}\n\n'


@pytest.mark.parametrize(
    ("piece", "says"),
    [
        (b"x" * PIECE, f"more than {MAX_LINE_BYTES} bytes"),
        ((b"data: " + b"x" * 1017 + b"\n") * 64, f"more than {MAX_EVENT_BYTES} bytes"),
        ((b": " + b"x" * 1021 + b"\n\n") * 64, None),
    ],
    ids=["line", "event", "comments"],
)
def test_megabytes_without_an_event_are_not_kept(piece: bytes, says: str | None) -> None:
    scanner = StreamScanner()
    tracemalloc.start()
    try:
        for now_ns in range(400):
            scanner.feed(piece, now_ns)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2 * MAX_LINE_BYTES
    assert scanner.event_count == 0
    assert scanner.malformed is None if says is None else says in str(scanner.malformed)


def scanned(*events: bytes) -> StreamScanner:
    scanner = StreamScanner()
    for now_ns, event in enumerate(events):
        scanner.feed(event, now_ns)
    return scanner


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([OUTPUT % (b"," + USAGE % 0), OUTPUT % b"", OUTPUT % b""], Usage(3, None, None)),
        ([OUTPUT % (b"," + USAGE % 1), OUTPUT % (b"," + USAGE % 2)], Usage(3, 2, None)),
        ([OUTPUT % b"", b'data: {"choices":[],' + USAGE % 1 + b"}\n\n"], Usage(3, 1, None)),
        ([b'data: {"choices":[],' + USAGE % 9 + b"}\n\n", OUTPUT % b""], Usage(3, None, None)),
        ([OUTPUT % b""], None),
    ],
    ids=["with the first", "with each", "at the end", "before all", "never"],
)
def test_a_count_that_output_followed_is_no_total(events: list[bytes], expected: Usage | None) -> None:
    assert scanned(*events).usage == expected
