"""Reads an answer's server-sent events as their bytes arrive: token times, counts, end, errors.

Never reads a clock and never decides whether a request failed: it says what was seen.
"""

from array import array

from adapters.openai.event import Event, Usage, read_event
from adapters.openai.template import Template, learn_template

DONE = b"[DONE]"
CARRIAGE_RETURN = 0x0D
MAX_LINE_BYTES = 8 << 20
LEARN_ATTEMPTS = 4


class StreamScanner:
    """Scans one answer. Lines end in LF or CRLF; an event ends with an empty line and has the time of its last byte.

    `chunk_ns` holds the time of every event that carried output: content, text, reasoning or a tool call, non-empty.
    Tokens whose ids came without text belong to the next event with output, and to none where no such event follows.
    The stream's end is `[DONE]`; for a server that sends none (`sends_done` False) it is a finish reason and then the
    end of the HTTP message, which only the caller can see. `malformed` says what was no JSON object, `error` what
    the server reported inside the stream; the first of each is kept.
    """

    __slots__ = (
        "_carried",
        "_data",
        "_learns_left",
        "_pending",
        "_rest",
        "_sends_done",
        "_tells_tokens",
        "_template",
        "_type",
        "chunk_ns",
        "done_ns",
        "error",
        "event_count",
        "finish_reason",
        "first_answer_ns",
        "first_reasoning_ns",
        "malformed",
        "usage",
    )

    def __init__(self, *, sends_done: bool = True) -> None:
        self.chunk_ns: array[int] = array("q")
        self.event_count = 0
        self.first_answer_ns: int | None = None
        self.first_reasoning_ns: int | None = None
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.error: str | None = None
        self.malformed: str | None = None
        self.done_ns: int | None = None
        self._sends_done = sends_done
        self._carried: array[int] = array("q")
        self._pending = 0
        self._tells_tokens = True
        self._rest = b""
        self._data: bytes | None = None
        self._type = b""
        self._template: Template | None = None
        self._learns_left = LEARN_ATTEMPTS

    @property
    def may_end(self) -> bool:
        """Say whether an HTTP message that ends now ends a whole answer."""
        return self.done_ns is not None or (not self._sends_done and self.finish_reason is not None)

    @property
    def output_tokens(self) -> int:
        """Count the output: by token ids where the stream has them, else one an event with output."""
        return sum(self._carried)

    @property
    def chunk_tokens(self) -> "array[int] | None":
        """Return how many tokens each chunk carried, None where the stream does not tell."""
        return self._carried if self._tells_tokens and self._carried else None

    def feed(self, chunk: bytes, now_ns: int) -> None:
        """Take the next bytes of the body, cut anywhere; `now_ns` is when they arrived."""
        buffer = self._rest + chunk if self._rest else chunk
        start = 0
        end = buffer.find(b"\n")
        while end >= 0:
            is_crlf = end > start and buffer[end - 1] == CARRIAGE_RETURN
            self._take_line(buffer[start : end - is_crlf], now_ns)
            start = end + 1
            end = buffer.find(b"\n", start)
        self._rest = buffer[start:]
        if len(self._rest) > MAX_LINE_BYTES:
            self.malformed = self.malformed or f"a line of more than {MAX_LINE_BYTES} bytes"
            self._rest = b""

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
            self._data = part if self._data is None else self._data + b"\n" + part
        elif line.startswith(b"event:"):
            self._type = line[6:].strip()
        elif line.startswith(b"error:"):  # llama.cpp before 2025: a field of its own
            self._data, self._type = line[6:].strip(), b"error"

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
            event = read_event(data)
        except ValueError as error:
            self.malformed = self.malformed or f"{error}: {data[:100].decode(errors='replace')}"
            return Event()
        if self._learns_left and event.is_output:
            self._learns_left -= 1
            self._template = learn_template(data, event) or template
        return event

    def _apply(self, event: Event, now_ns: int) -> None:
        if event.is_output:
            self._note_output(event, now_ns)
        else:
            self._pending += event.tokens or 0
        self.finish_reason = event.finish_reason or self.finish_reason
        self.usage = event.usage or self.usage
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
