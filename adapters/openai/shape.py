"""The shape of an event: its bytes without the values that differ between streams and tokens.

Such values are read for their emptiness at most, but for the counts of a usage, which are taken out by their place.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from adapters.openai.event import Event, Usage, read_event
from adapters.openai.json_string import is_string

ESCAPED = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
PLAIN = r'[^"\\\x00-\x1f]*'
STRING = rf'(?!"){PLAIN}(?:{ESCAPED}{PLAIN})*'
NUMBER = "(?:0|[1-9][0-9]{0,17})"
# In valid JSON a quoted name before a colon is a key and what follows is its whole value, since inside a string every
# quote has a backslash before it. Another string, or another number, in its place leaves the JSON valid and alike.
VALUES = re.compile(
    rf'(?P<string>"(?:id|text|content|reasoning|reasoning_content)": ?"){STRING}(?=")'
    r'|(?P<number>"(?:created|prompt_tokens|completion_tokens|total_tokens|cached_tokens)": ?|"token_ids": ?\[)'
    rf"{NUMBER}(?=[,}}\]])"
)
MAX_DIGITS = 18
ZERO = ord("0")
FIRST_PROBES, SECOND_PROBES = 1000, 2000

Places = tuple[int | None, int | None, int | None]


class Shape(NamedTuple):
    """What stands before, between and after an event's values, and what every event of this shape says.

    `strings` and `numbers` say which values are which; `places` are the values that hold its usage, None one that is
    always as it was.
    """

    literals: tuple[bytes, ...]
    strings: tuple[int, ...]
    numbers: tuple[int, ...]
    event: Event
    places: Places | None

    def read(self, payload: bytes) -> Event | None:
        """Return what the event says; None where it may have another shape."""
        values = self._values(payload)
        if values is None:
            return None
        usage = self.event.usage
        if self.places is None or usage is None:
            return self.event
        told = [known if at is None else int(values[at]) for at, known in zip(self.places, usage, strict=True)]
        return self.event._replace(usage=Usage(*told))

    def _values(self, payload: bytes) -> list[bytes] | None:
        """Return the values; a literal that also stands inside a value makes that value one that is refused."""
        first, *rest = self.literals
        if not (payload.startswith(first) and payload.endswith(rest[-1])):
            return None
        values, begin = [], len(first)
        for literal in rest[:-1]:
            end = payload.find(literal, begin)
            if end < 0:
                return None
            values.append(payload[begin:end])
            begin = end + len(literal)
        values.append(payload[begin : -len(rest[-1])])
        text = b" ".join([values[at] for at in self.strings])  # a space: no character and no escape reaches over it
        if b"" in values or (text and not is_string(text)):
            return None
        for at in self.numbers:
            value = values[at]
            if not value.isdigit() or len(value) > MAX_DIGITS or (value[0] == ZERO and value != b"0"):
                return None
        return values


def learn_shape(payload: bytes, event: Event) -> Shape | None:
    """Return the shape of an event that reads as `event`; None where other values would read otherwise."""
    text = payload.decode()
    found = list(VALUES.finditer(text))
    if event.error is not None or not found:
        return None
    kinds = tuple(str(one.lastgroup) for one in found)
    literals = _literals(text, found)
    first, second = (read_event(_fill(literals, kinds, base).encode()) for base in (FIRST_PROBES, SECOND_PROBES))
    if not first._replace(usage=None) == second._replace(usage=None) == event._replace(usage=None):
        return None
    places = None if event.usage is None else _places(event.usage, first.usage, second.usage)
    if (event.usage is None) != (first.usage is None) or (event.usage is not None and places is None):
        return None
    strings, numbers = (tuple(at for at, one in enumerate(kinds) if one == kind) for kind in ("string", "number"))
    return Shape(tuple(one.encode() for one in literals), strings, numbers, event, places)


def _literals(text: str, found: Sequence["re.Match[str]"]) -> list[str]:
    begins = [0, *(one.end() for one in found)]
    ends = [*(one.end(str(one.lastgroup)) for one in found), len(text)]
    return [text[begin:end] for begin, end in zip(begins, ends, strict=True)]


def _fill(literals: Sequence[str], kinds: Sequence[str], base: int) -> str:
    """Make an event with other values: each tells its place, as much as its number is over `base`."""
    values = [f"x{base}" if kind == "string" else str(base + at) for at, kind in enumerate(kinds)]
    return literals[0] + "".join(value + after for value, after in zip(values, literals[1:], strict=True))


def _places(usage: Usage, first: Usage | None, second: Usage | None) -> Places | None:
    """Return by which value each count is told, None for one that is always as it was; None where that is unclear."""
    if first is None or second is None:
        return None
    places: list[int | None] = []
    for known, one, other in zip(usage, first, second, strict=True):
        if one == other == known:
            places.append(None)
        elif one is not None and other is not None and one - FIRST_PROBES == other - SECOND_PROBES >= 0:
            places.append(one - FIRST_PROBES)
        else:
            return None
    return places[0], places[1], places[2]
