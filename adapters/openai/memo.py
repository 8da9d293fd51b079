"""What events of one shape say, remembered over all streams of a replay: equal shapes need no JSON parser.

A shape is an event's text without the values that differ between streams and tokens, and that `read_event` reads for
their emptiness at most. Guesses nothing: a shape is kept only where it reads alike with other values.
"""

import re

from adapters.openai.event import Event, read_event

MAX_SHAPES = 1024
STRING = r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+'
# In valid JSON a quoted name before a colon is a key and what follows is its whole value, since inside a string every
# quote has a backslash before it. Another string, or another number, in its place leaves the JSON valid and alike.
VALUES = re.compile(
    rf'("(?:id|text|content|reasoning|reasoning_content)": ?"){STRING}(?=")'
    r'|("created": ?)[1-9][0-9]{0,17}(?![0-9])|("token_ids": ?\[)(?:0|[1-9][0-9]{0,9})(?=\])'
)
USAGE = re.compile(rb'"usage": ?\{')
BLANK = "\0"  # stands in no JSON


class EventMemo:
    """Reads events as `read_event` does, each shape once. Events with usage or an error are read every time."""

    def __init__(self) -> None:
        self._events: dict[str, Event] = {}

    def read(self, payload: bytes) -> tuple[Event, bool]:
        """Read the data of one server-sent event; say too whether its shape is known, so that all of it say the same.

        Raises:
            ValueError: the data is not one JSON object in UTF-8.
        """
        if USAGE.search(payload):  # read every time
            return read_event(payload), False
        text = payload.decode()
        shape = VALUES.sub(_blank, text)
        event = None if BLANK in text else self._events.get(shape)
        if event is not None:
            return event, True
        event = read_event(payload)
        is_known = event.usage is None and event.error is None and _reads_alike(shape, event)
        if is_known and len(self._events) < MAX_SHAPES:
            self._events[shape] = event
        return event, is_known


def _blank(found: "re.Match[str]") -> str:
    return found[1] + BLANK if found[1] else (found[2] or found[3]) + "1"


def _reads_alike(shape: str, event: Event) -> bool:
    """Say whether the shape says the same with other values: none of them stands in the event."""
    return BLANK in shape and all(read_event(shape.replace(BLANK, value).encode()) == event for value in ("x", "yz"))
