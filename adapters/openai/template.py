"""The frame that successive events of one stream share: equal frames need no JSON parser. Guesses nothing."""

from typing import NamedTuple

from adapters.openai.event import Event, read_event

KEYS = (b'"content":', b'"text":', b'"reasoning_content":', b'"reasoning":')


class Template(NamedTuple):
    """An event's bytes before and after one string value, and what an event of that frame says."""

    prefix: bytes
    suffix: bytes
    event: Event

    def matches(self, payload: bytes) -> bool:
        """Say whether `payload` surely says `event`: the same frame around another non-empty plain string.

        True is proof, since facts depend on such a string only by its emptiness. False means: ask the JSON parser.
        """
        if not (payload.startswith(self.prefix) and payload.endswith(self.suffix)):
            return False
        value = payload[len(self.prefix) : len(payload) - len(self.suffix)]
        return bool(value) and b'"' not in value and b"\\" not in value and _is_printable(value)


def _is_printable(value: bytes) -> bool:
    """Say whether the bytes are UTF-8 without control characters, which JSON strings may not hold."""
    try:
        return value.decode().isprintable()
    except UnicodeDecodeError:
        return False


def learn_template(payload: bytes, event: Event) -> Template | None:
    """Find the frame around the event's own text, proved by reading the frame with another text in it.

    None where the event carries more than text (finish reason, usage, error) or its text has escapes.
    """
    if not event.is_output or event.finish_reason or event.usage or event.error:
        return None
    for key in KEYS:
        start = _value_start(payload, key)
        end = payload.find(b'"', start) if start else -1
        if end > start and b"\\" not in payload[start:end]:
            template = Template(payload[:start], payload[end:], event)
            return template if _is_proved(template) else None
    return None


def _value_start(payload: bytes, key: bytes) -> int:
    """Return where the string value of the key starts, 0 where there is none."""
    at = payload.find(key)
    if at < 0:
        return 0
    at += len(key)
    while payload[at : at + 1] == b" ":
        at += 1
    return at + 1 if payload[at : at + 1] == b'"' else 0


def _is_proved(template: Template) -> bool:
    """Say whether the frame reads the same with another text, and as silence without one."""
    whole = template.prefix + b"x" + template.suffix
    empty = template.prefix + template.suffix
    return read_event(whole) == template.event and not read_event(empty).is_output
