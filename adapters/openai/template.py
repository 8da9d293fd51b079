"""The frame that successive events of one stream share: equal frames need no JSON parser. Guesses nothing."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from adapters.openai.event import Event

KEYS = (b'"content":', b'"text":', b'"reasoning_content":', b'"reasoning":')
ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')


class Template(NamedTuple):
    """An event's bytes before and after one string value, and what every event of that frame says."""

    prefix: bytes
    suffix: bytes
    event: Event

    def matches(self, payload: bytes) -> bool:
        """Say whether `payload` surely says `event`: the same frame around another non-empty string.

        True is proof, since facts depend on such a string only by its emptiness. False means: ask the JSON parser.
        """
        if not (payload.startswith(self.prefix) and payload.endswith(self.suffix)):
            return False
        return _is_string(payload[len(self.prefix) : len(payload) - len(self.suffix)])

    def run(self, bodies: Sequence[bytes], start: int) -> int:
        """Count the bodies from `start` on of which each is one whole event, by itself, that surely says `event`."""
        head, tail = b"data: " + self.prefix, self.suffix + b"\n\n"
        begin, end, frame = len(head), -len(tail), len(head) + len(tail)
        values = []
        for body in islice(bodies, start, None):
            if not (body.startswith(head) and body.endswith(tail) and len(body) > frame):
                break
            values.append(body[begin:end])
        if _is_string(b" ".join(values)):  # a space: no character and no escape reaches over it
            return len(values)
        return next((at for at, value in enumerate(values) if not _is_string(value)), len(values))


def _is_string(value: bytes) -> bool:
    """Say whether the bytes can stand between the quotes of a JSON string, and are not empty; False where unsure."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return False
    if "\\" in text:
        text = ESCAPE.sub("x", text)
    return bool(text) and text.isprintable() and '"' not in text and "\\" not in text


def cut_template(payload: bytes, event: Event) -> Template | None:
    """Cut the frame around the event's own text. The payload's shape must be known: other texts read alike in it.

    None where the event carries more than text (finish reason, usage, error) or its text has escapes.
    """
    if not event.is_output or event.finish_reason or event.usage or event.error:
        return None
    for key in KEYS:
        start = _value_start(payload, key)
        end = payload.find(b'"', start) if start else -1
        if end > start and b"\\" not in payload[start:end]:
            return Template(payload[:start], payload[end:], event)
    return None


def _value_start(payload: bytes, key: bytes) -> int:
    """Return where the string value of the key starts, 0 where there is none."""
    at = payload.find(key)
    if at < 0:
        return 0
    at += len(key)
    at += payload[at : at + 1] == b" "
    return at + 1 if payload[at : at + 1] == b'"' else 0
