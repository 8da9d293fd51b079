"""One engine's answer as bytes, read slowly and plainly: what the stream scanner is compared with.

Shares no code with the scanner: lines are split and every event is parsed as JSON.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from adapters.openai import Dialect, Route, StreamScanner, Usage

LINE_END = re.compile(r"\r?\n")
EVENT = re.compile(rb".*?(?:\r?\n\r?\n|\Z)", re.DOTALL)
ROUTES: tuple[Route, ...] = ("completions", "chat")
OUTPUT_FIELDS = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call")
NOT_WHOLE = ("error", "cut")
MORE_IN_USAGE = ("several_tokens", "silent_tokens")


class Seen(NamedTuple):
    """What a scanner says of an answer, times aside."""

    events: int
    chunks: int
    output_tokens: int
    has_answer: bool
    has_reasoning: bool
    finish_reason: str | None
    usage: Usage | None
    error: str | None
    malformed: str | None
    may_end: bool


@dataclass(frozen=True, slots=True)
class Transcript:
    """The body of one answer, and what its name says of it.

    The name begins with the route. A name with `error` or `cut` belongs to an answer that is not whole; one with
    `several_tokens` (events of more than one token) or `silent_tokens` (tokens without text of their own) to an answer
    whose usage counts more tokens than its events show.
    """

    name: str
    body: bytes

    @property
    def route(self) -> Route | None:
        """Return the route, None where the name begins with none."""
        return next((route for route in ROUTES if self.name.partition("-")[0] == route), None)

    @property
    def is_whole(self) -> bool:
        """Say whether the name claims a whole answer."""
        return not any(word in self.name for word in NOT_WHOLE)

    @property
    def counts_more(self) -> bool:
        """Say whether the name claims more tokens than events with output."""
        return any(word in self.name for word in MORE_IN_USAGE)

    def events(self) -> list[bytes]:
        """Cut the body behind each empty line."""
        return [one for one in EVENT.findall(self.body) if one]

    def outputs(self) -> list[int]:
        """List the positions, from 0, of the events that carry something that the model wrote."""
        return [at for at, event in enumerate(self.events()) if any(map(_is_output, _choices(_read(event))))]

    def end(self, *, sends_done: bool) -> int | None:
        """Return the position of the event that ends the answer: `[DONE]`, else the finish reason; None without it."""
        events = enumerate(self.events())
        ends = (at for at, event in events if (_is_done(event) if sends_done else _finishes(_read(event))))
        return next(ends, None)

    def usage(self) -> tuple[int, int] | None:
        """Return input and output tokens of the last event that has usage, None where none has."""
        found = [usage for event in self.events() if isinstance(usage := _read(event).get("usage"), dict)]
        return (found[-1]["prompt_tokens"], found[-1]["completion_tokens"]) if found else None


def scan(dialect: Dialect, parts: Iterable[bytes]) -> StreamScanner:
    """Feed a fresh scanner part by part and close it; the clock counts parts, from 0."""
    scanner = dialect.scanner()
    count = 0
    for count, part in enumerate(parts, start=1):
        scanner.feed(part, count - 1)
    scanner.close(count)
    return scanner


def slices(body: bytes, size: int) -> Iterator[bytes]:
    """Cut a body into parts of `size` bytes."""
    return (body[at : at + size] for at in range(0, len(body), size))


def summarise(scanner: StreamScanner) -> Seen:
    """Return all that does not depend on when the bytes came."""
    return Seen(
        events=scanner.event_count,
        chunks=len(scanner.chunk_ns),
        output_tokens=scanner.output_tokens,
        has_answer=scanner.first_answer_ns is not None,
        has_reasoning=scanner.first_reasoning_ns is not None,
        finish_reason=scanner.finish_reason,
        usage=scanner.usage,
        error=scanner.error,
        malformed=scanner.malformed,
        may_end=scanner.may_end,
    )


def _data(event: bytes) -> str:
    lines = LINE_END.split(event.decode())
    return "\n".join(line.removeprefix("data:").strip() for line in lines if line.startswith("data:"))


def _is_done(event: bytes) -> bool:
    return _data(event) == "[DONE]"


def _read(event: bytes) -> dict[str, Any]:
    data = _data(event)
    found = json.loads(data) if data and data != "[DONE]" else {}
    return found if isinstance(found, dict) else {}


def _choices(body: dict[str, Any]) -> list[dict[str, Any]]:
    return body.get("choices") or []


def _is_output(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta") or {}
    return bool(choice.get("text")) or any(delta.get(name) for name in OUTPUT_FIELDS)


def _finishes(body: dict[str, Any]) -> bool:
    return any(choice.get("finish_reason") for choice in _choices(body))
