"""Which format a file has, told by its header or by the keys of its first row."""

import json
from pathlib import Path
from typing import NamedTuple

from workloads.readers import azure2023, burstgpt, mooncake
from workloads.readers.media import refuse_media_row
from workloads.trace import TraceError

FORMATS = (azure2023.NAME, burstgpt.NAME, mooncake.NAME)
MAX_FIRST_LINE_BYTES = 1 << 24
SHOWN_CHARS = 100
KNOWN = (
    f"{azure2023.NAME} (header TIMESTAMP,ContextTokens,GeneratedTokens), {burstgpt.NAME} (header Timestamp,Model,"
    f"Request tokens,...), {mooncake.NAME} (JSON lines with timestamp, input_length, output_length)"
)


class Recognised(NamedTuple):
    """A format's name and the names of the columns or keys that the file has."""

    format: str
    names: tuple[str, ...]


def recognise(path: Path) -> Recognised:
    """Tell a file's format from its first line.

    Raises:
        TraceError: the file is missing, empty, binary, of no format known here, or begins with more than text.
    """
    first = _first_line(path)
    names = _json_keys(first, path) if first.lstrip().startswith(("{", "[")) else _csv_names(first)
    present = frozenset(names)
    if present >= azure2023.HEADER:
        return Recognised(azure2023.NAME, names)
    if present >= burstgpt.HEADER:
        return Recognised(burstgpt.NAME, names)
    if present >= mooncake.KEYS and first.lstrip().startswith("{"):
        return Recognised(mooncake.NAME, names)
    raise TraceError(
        f"format not recognised, first line {first[:SHOWN_CHARS]!r}", path=path, row=1, advice=f"Known: {KNOWN}"
    )


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.readline(MAX_FIRST_LINE_BYTES)
    except OSError as error:
        raise TraceError(
            f"cannot be opened: {error.strerror}", path=path, advice="Check path and permissions"
        ) from error
    if not data.strip():
        raise TraceError("empty", path=path, row=1, advice=f"Known formats: {KNOWN}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _binary(path) from error
    if "\0" in text:
        raise _binary(path)
    return text.rstrip("\r\n")


def _binary(path: Path) -> TraceError:
    return TraceError("binary data, not text", path=path, row=1, advice="Unpack it first if it is compressed")


def _csv_names(line: str) -> tuple[str, ...]:
    return tuple(name.strip().strip('"') for name in line.split(","))


def _json_keys(line: str, path: Path) -> tuple[str, ...]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise TraceError(
            f"first line is no whole JSON object ({error.msg} at character {error.pos + 1})",
            path=path,
            row=1,
            advice="Was the file cut off here? A JSON-lines trace has one whole object a line",
        ) from error
    refuse_media_row(row, path, 1)
    return tuple(row) if isinstance(row, dict) else ()
