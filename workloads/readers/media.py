"""Rows of JSON-lines traces that hold more than text: found and refused by line, since only text can be sent."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workloads.readers.unpacking import open_unpacked
from workloads.trace import TraceError

MEDIA = r"(?:input_)?(?:image|audio|video)(?:s|_urls?)?"
IS_MEDIA = re.compile(MEDIA)
MENTIONS_MEDIA = re.compile(rf'"{MEDIA}"'.encode())


def refuse_media(path: Path) -> None:
    """Return when no row has image, audio or video content.

    Raises:
        TraceError: names the first row that has, and the kind.
    """
    with open_unpacked(path) as file:
        for line, text in enumerate(file, start=1):
            if MENTIONS_MEDIA.search(text):
                refuse_media_row(_parsed(text), path, line)


def refuse_media_row(row: object, path: Path, line: int) -> None:
    """Return when a row has no image, audio or video content.

    Raises:
        TraceError: names the row and the kind.
    """
    kind = next(_media_in(row), None)
    if kind is not None:
        raise TraceError(
            f"content of type {kind}; only text is sent",
            path=path,
            row=line,
            advice="Leave rows with images, audio or video out of the trace",
        )


def _media_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield kinds of media: a `type` that names one, or a key of that name with something in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "type" and isinstance(inner, str) and IS_MEDIA.fullmatch(inner):
                yield inner
            elif IS_MEDIA.fullmatch(key) and _holds_something(inner):
                yield key
            else:
                yield from _media_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _media_in(inner)


def _holds_something(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Say whether anything is in a value; GuideLLM lists figures of images that are all null."""
    if isinstance(value, dict):
        return any(map(_holds_something, value.values()))
    return any(map(_holds_something, value)) if isinstance(value, list) else bool(value)


def _parsed(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None  # the reader names a broken line
