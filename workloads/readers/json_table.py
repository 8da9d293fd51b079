"""JSON lines as a stream of typed tables, and the lines that are no rows.

Polars reads blocks of whole lines strictly. Only a block that it cannot read is walked line by line.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from workloads.readers.csv_table import Part
from workloads.readers.faults import Fault, shorten
from workloads.readers.line_blocks import LineBlock
from workloads.readers.media import MENTIONS_MEDIA, refuse_media_row

Schema = Mapping[str, pl.DataType | type[pl.DataType]]
Row = dict[str, Any]
ReadRow = Callable[[Row], Row]


class NoRowError(ValueError):
    """Why one object is no row of a format: `kind` to count it by, and the reason in words."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind = kind
        self.reason = reason


def parse_json_lines(block: LineBlock, schema: Schema, read_row: ReadRow) -> Part:
    """Parse a block. A missing value is null; `read_row` makes a row of an object where types are not the schema's."""
    try:
        frame = pl.read_ndjson(block.data, schema=dict(schema))
    except pl.exceptions.PolarsError:
        return parse_rows(block, schema, read_row)
    return Part(frame.with_columns(pl.Series("line", _lines(block, frame.height), dtype=pl.Int64)), (), block)


def parse_rows(block: LineBlock, schema: Schema, read_row: ReadRow) -> Part:
    """Parse a block line by line; `read_row` raises `NoRowError` for an object that is no row."""
    rows: list[Row] = []
    faults: list[Fault] = []
    for line, text in _numbered(block):
        try:
            rows.append({**read_row(_object(text)), "line": line})
        except NoRowError as fault:
            faults.append(Fault(line, fault.kind, fault.reason, shorten(text.decode("utf-8", errors="replace"))))
    frame = pl.DataFrame(rows, schema={**schema, "line": pl.Int64}, orient="row")
    return Part(frame, tuple(faults), block)


def refuse_media_in(block: LineBlock, path: Path) -> None:
    """Return when no line of a block has image, audio or video content.

    Raises:
        TraceError: names the first that has, and the kind.
    """
    if MENTIONS_MEDIA.search(block.data) is None:
        return
    for line, text in _numbered(block):
        if MENTIONS_MEDIA.search(text):
            try:
                row = json.loads(text)
            except ValueError:
                continue  # the reader names a broken line
            refuse_media_row(row, path, line)


def _object(text: bytes) -> Row:
    try:
        row = json.loads(text)
    except UnicodeDecodeError as error:
        raise NoRowError("no JSON object", "no JSON object (bytes that are no UTF-8 text)") from error
    except json.JSONDecodeError as error:
        reason = f"no JSON object ({error.msg} at character {error.pos + 1})"
        raise NoRowError("no JSON object", reason) from error
    if not isinstance(row, dict):
        raise NoRowError("no JSON object", "no JSON object")
    return row


def _numbered(block: LineBlock) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    for line, text in enumerate(block.data.split(b"\n"), start=block.first_line):
        if text and not text.isspace():
            yield line, text


def _lines(block: LineBlock, num_rows: int) -> Iterable[int]:
    num_lines = block.data.count(b"\n") + (not block.data.endswith(b"\n"))
    if num_lines == num_rows:
        return np.arange(block.first_line, block.first_line + num_rows)
    return [line for line, _ in _numbered(block)]
