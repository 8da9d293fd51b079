"""Reads an answer's server-sent events as their bytes arrive: token times, counts, end, errors.

Never reads a clock and never decides whether a request failed: it says what was seen.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache

from adapters.openai.event import Event, Usage
from adapters.openai.memo import EventMemo
from adapters.openai.template import Template, cut_template

DONE = b"[DONE]"
CARRIAGE_RETURN = 0x0D
MAX_LINE_BYTES = 8 << 20
MAX_EVENT_BYTES = 1 << 20  # of several lines: each is joined to those before
LEARN_ATTEMPTS = 4


class StreamScanner:
    """Scans one answer. Lines end in LF or CRLF; an event ends with an empty line and has the time of its last byte.

    `chunk_ns` holds the time of every event that carried output: content, text, reasoning or a tool call, non-empty.
    Tokens whose ids came without text belong to the next event with output, and to none where no such event follows.
    The stream's end is `[DONE]`; for a server that sends none (`sends_done` False) it is a finish reason and then the
    end of the HTTP message, which only the caller can see. `malformed` says what was no JSON object, `error` what
    the server reported inside the stream; the first of each is kept. Of `usage` the last is kept, its count of output
    None where more output followed: that was not the whole.
    """

    __slots__ = (
        "_carried",
        "_data",
        "_learns_left",
        "_memo",
        "_pending",
        "_rest",
        "_rest_bytes",
        "_sends_done",
        "_tells_tokens",
        "_template",
        "_type",
        "_usage",
        "_usage_chunks",
        "chunk_ns",
        "done_ns",
        "error",
        "event_count",
        "finish_reason",
        "first_answer_ns",
        "first_reasoning_ns",
        "malformed",
    )

    def __init__(self, *, sends_done: bool = True, memo: EventMemo | None = None) -> None:
        self.chunk_ns: array[int] = array("q")
        self.event_count = 0
        self.first_answer_ns: int | None = None
        self.first_reasoning_ns: int | None = None
        self.finish_reason: str | None = None
        self.error: str | None = None
        self.malformed: str | None = None
        self.done_ns: int | None = None
        self._usage: Usage | None = None
        self._usage_chunks = 0
        self._sends_done = sends_done
        self._memo = EventMemo() if memo is None else memo
        self._carried: array[int] = array("q")
        self._pending = 0
        self._tells_tokens = True
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._data: bytes | None = None
        self._type = b""
        self._template: Template | None = None
        self._learns_left = LEARN_ATTEMPTS

    @property
    def may_end(self) -> bool:
        """Say whether an HTTP message that ends now ends a whole answer."""
        return self.done_ns is not None or (not self._sends_done and self.finish_reason is not None)

    @property
    def usage(self) -> Usage | None:
        """Return the server's own counts; output that was counted before the last chunk came is not known."""
        if self._usage is None or self._usage_chunks == len(self.chunk_ns):
            return self._usage
        return self._usage._replace(output_tokens=None)

    @property
    def output_tokens(self) -> int:
        """Count the output: by token ids where the stream has them, else one an event with output."""
        return sum(self._carried)

    @property
    def chunk_tokens(self) -> "array[int] | None":
        """Return how many tokens each chunk carried, None where the stream does not tell; not to be changed."""
        if not self._tells_tokens or not self._carried:
            return None
        return _ones(len(self._carried)) if self._carried.count(1) == len(self._carried) else self._carried

    def feed_all(self, chunks: Sequence[bytes], times_ns: Sequence[int]) -> None:
        """Take several pieces of the body, each with its time: the same as feeding one after the other, only faster."""
        at = 0
        while at < len(chunks):
            run = self._template.run(chunks, at) if self._template is not None and self._is_between_events else 0
            if run:
                self._apply_run(times_ns[at : at + run])
                at += run
            else:
                self.feed(chunks[at], times_ns[at])
                at += 1

    @property
    def _is_between_events(self) -> bool:
        return not self._rest and self._data is None and not self._type and self.done_ns is None

    def feed(self, chunk: bytes, now_ns: int) -> None:
        """Take the next bytes of the body, cut anywhere; `now_ns` is when they arrived."""
        buffer, start = chunk, 0
        end = buffer.find(b"\n")
        if self._rest:
            if end < 0:
                self._keep(chunk)
                return
            self._rest.append(chunk)
            buffer = b"".join(self._rest)
            end += len(buffer) - len(chunk)
            self._forget_rest()
        while end >= 0:
            is_crlf = end > start and buffer[end - 1] == CARRIAGE_RETURN
            self._take_line(buffer[start : end - is_crlf], now_ns)
            start = end + 1
            end = buffer.find(b"\n", start)
        if start < len(buffer):
            self._keep(buffer[start:])

    def _keep(self, part: bytes) -> None:
        """Keep part of a line; parts are joined only at its end. One too long to be an event is dropped."""
        self._rest.append(part)
        self._rest_bytes += len(part)
        if self._rest_bytes > MAX_LINE_BYTES:
            self.malformed = self.malformed or f"a line of more than {MAX_LINE_BYTES} bytes"
            self._forget_rest()

    def _forget_rest(self) -> None:
        self._rest.clear()
        self._rest_bytes = 0

    def close(self, now_ns: int) -> None:
        """Take the end of the body: a last `[DONE]` counts without its empty line, other half events do not."""
        if self._rest:
            self.feed(b"\n", now_ns)
        if self._data == DONE:
            self._dispatch(now_ns)

    def _take_line(self, line: bytes, now_ns: int) -> None:
        if not line:
            self._dispatch(now_ns)
        elif line.startswith(b"data:"):
            part = line[6:] if line.startswith(b"data: ") else line[5:]
            self._data = part if self._data is None else self._longer(self._data, part)
        elif line.startswith(b"event:"):
            self._type = line[6:].strip()
        elif line.startswith(b"error:"):  # llama.cpp before 2025: a field of its own
            self._data, self._type = line[6:].strip(), b"error"

    def _longer(self, data: bytes, part: bytes) -> bytes:
        """Return an event's data with one line more, or as it was where that is too long or the answer is lost."""
        if len(data) + len(part) > MAX_EVENT_BYTES:
            self.malformed = self.malformed or f"an event of more than {MAX_EVENT_BYTES} bytes in many lines"
        return data if self.malformed is not None else data + b"\n" + part

    def _dispatch(self, now_ns: int) -> None:
        data, kind = self._data, self._type
        self._data, self._type = None, b""
        if data is None or self.done_ns is not None:
            return
        self.event_count += 1
        if data.strip() == DONE:
            self.done_ns = now_ns
            return
        event = self._read(data)
        if kind == b"error" and event.error is None:
            event = event._replace(error=data.decode(errors="replace"))
        self._apply(event, now_ns)

    def _read(self, data: bytes) -> Event:
        template = self._template
        if template is not None and template.matches(data):
            self._learns_left = LEARN_ATTEMPTS
            return template.event
        try:
            event, is_known = self._memo.read(data)
        except ValueError as error:
            self.malformed = self.malformed or f"{error}: {data[:100].decode(errors='replace')}"
            return Event()
        if is_known and self._learns_left and event.is_output:
            self._learns_left -= 1
            self._template = cut_template(data, event) or template
        return event

    def _apply_run(self, times_ns: Sequence[int]) -> None:
        """Apply the template's event at each time: the first by itself, for what only a first one changes."""
        event = self._template.event if self._template is not None else Event()
        self._learns_left = LEARN_ATTEMPTS
        self.event_count += len(times_ns)
        self._apply(event, times_ns[0])
        self.chunk_ns.extend(times_ns[1:])
        tokens = 1 if event.tokens is None else event.tokens
        self._carried.extend([tokens] * (len(times_ns) - 1))

    def _apply(self, event: Event, now_ns: int) -> None:
        if event.is_output:
            self._note_output(event, now_ns)
        else:
            self._pending += event.tokens or 0
        self.finish_reason = event.finish_reason or self.finish_reason
        if event.usage is not None:
            self._usage, self._usage_chunks = event.usage, len(self.chunk_ns)
        self.error = self.error or event.error

    def _note_output(self, event: Event, now_ns: int) -> None:
        self.chunk_ns.append(now_ns)
        self._tells_tokens = self._tells_tokens and event.tokens is not None
        self._carried.append(self._pending + (1 if event.tokens is None else event.tokens))
        self._pending = 0
        if event.has_answer and self.first_answer_ns is None:
            self.first_answer_ns = now_ns
        if event.has_reasoning and self.first_reasoning_ns is None:
            self.first_reasoning_ns = now_ns


@lru_cache(maxsize=4096)
def _ones(count: int) -> "array[int]":
    """Return so many ones, shared by all answers of that length."""
    return array("q", [1]) * count
