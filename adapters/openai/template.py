"""The frame that successive events of one stream share: equal frames need no JSON parser. Guesses nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from adapters.openai.event import Event
from adapters.openai.json_string import is_string

KEYS = (b'"content":', b'"text":', b'"reasoning_content":', b'"reasoning":')


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
        return is_string(payload[len(self.prefix) : len(payload) - len(self.suffix)])

    def run(self, bodies: Sequence[bytes], start: int) -> int:
        """Count the bodies from `start` on of which each is one whole event, by itself, that surely says `event`."""
        head, tail = b"data: " + self.prefix, self.suffix + b"\n\n"
        begin, end = len(head), -len(tail)
        bodies = bodies[start:]
        fit = [body.startswith(head) and body.endswith(tail) for body in bodies]
        count = fit.index(False) if False in fit else len(fit)
        values = [body[begin:end] for body in bodies[:count]]
        if b"" not in values and is_string(b" ".join(values)):  # a space: no character and no escape reaches over it
            return count
        return next((at for at, value in enumerate(values) if not is_string(value)), count)


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
