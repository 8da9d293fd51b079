"""Reads numbers out of another tool's JSON: a value of another type is no number, and 0 stays 0."""

import math
from collections.abc import Mapping, Sequence

from orchestrator.interchange.foreign import ForeignSample

MS_PER_S = 1000
Row = Mapping[str, object]


def number(row: object, *path: str) -> float | None:
    """Return the finite number at a path, None where there is none."""
    value = at(row, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def whole(row: object, *path: str) -> int | None:
    """Return the whole number at a path, None where there is none."""
    value = number(row, *path)
    return int(value) if value is not None and value == int(value) else None


def text(row: object, *path: str) -> str | None:
    """Return the text at a path, None where there is none."""
    value = at(row, *path)
    return value if isinstance(value, str) and value else None


def at(row: object, *path: str) -> object:
    """Return what stands at a path, None where nothing does."""
    for name in path:
        if not isinstance(row, Mapping):
            return None
        row = row.get(name)
    return row


def sample(parts: Mapping[str, float | None], count: int | None, *, scale: float = 1.0) -> ForeignSample | None:
    """Return a sample by the names of its parts, each divided by `scale`; None where nothing is known of it."""
    known = {name: value / scale for name, value in parts.items() if value is not None}
    return ForeignSample(**known, count=count) if known else None


def unread(row: Row, known: Sequence[str]) -> tuple[str, ...]:
    """List the keys of an object that nobody has read, in order."""
    return tuple(sorted(key for key in row if key not in known))
