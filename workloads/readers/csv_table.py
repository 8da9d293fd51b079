"""A CSV file as a stream of typed tables, and the lines that are no rows of it.

Polars reads blocks of whole lines. Only a block that it cannot read is walked line by line.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from workloads.readers.faults import Fault, shorten
from workloads.readers.format import Progress
from workloads.readers.line_blocks import MAX_LINE_BYTES, LineBlock, read_line_blocks

Columns = Mapping[str, type[pl.DataType]]
MAX_FIELD_CHARS = MAX_LINE_BYTES


class CsvLayout(NamedTuple):
    """All of a file's columns in order, those that are read with their types, and what separates fields."""

    names: tuple[str, ...]
    columns: Columns
    separator: str = ","


class Part(NamedTuple):
    """Rows of one block with `line` beside them, rows that cannot be told apart as such, and the block itself."""

    frame: pl.DataFrame
    faults: tuple[Fault, ...]
    block: LineBlock


def read_csv_blocks(path: Path, progress: Progress | None) -> Iterator[LineBlock]:
    """Yield the blocks of a CSV file without its header line.

    Raises:
        TraceError: the file cannot be read.
    """
    is_header_due = True
    for block in read_line_blocks(path, progress=progress, has_quotes=True):
        rest = _after_header(block) if is_header_due else block
        is_header_due = is_header_due and rest is None
        if rest is not None and rest.data:
            yield rest


def parse_csv(block: LineBlock, layout: CsvLayout) -> Part:
    """Parse a block; a cell that does not fit its type, or is not finite, is null. Empty lines are left out."""
    try:
        frame = _parse(block.data, layout, block.first_line)
        faults: tuple[Fault, ...] = ()
        lines = _true_lines(block, frame.height)
        if lines is not None:
            frame = frame.with_columns(pl.Series("line", lines, dtype=pl.Int64))
    except pl.exceptions.PolarsError:
        frame, faults = _parse_by_line(block, layout)
    frame = frame.with_columns(pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64)))
    is_empty = pl.all_horizontal(pl.col(*layout.columns).is_null())
    if frame.select(is_empty.any()).item():
        frame = frame.filter(~is_empty | pl.col("line").is_in(_lines_with_fields(block)))
    return Part(frame, faults, block)


def csv_fields(line: str, separator: str = ",") -> tuple[str, ...]:
    """Split one line into its fields."""
    return tuple(field.strip() for field in next(csv.reader([line], delimiter=separator), ()))


def _after_header(block: LineBlock) -> LineBlock | None:
    """Return what follows the first line that is not empty, None where there is none."""
    start = len(block.data) - len(block.data.lstrip())
    if start == len(block.data):
        return None
    end = block.data.find(b"\n", start) + 1
    rest = block.data[end:] if end else b""
    return LineBlock(rest, block.first_line + block.data.count(b"\n", 0, end or None))


def _parse(data: bytes, layout: CsvLayout, first_line: int) -> pl.DataFrame:
    """Parse by position, since a header may name two columns alike."""
    wanted = {f"column_{layout.names.index(name) + 1}": kind for name, kind in layout.columns.items()}
    frame = pl.read_csv(
        data,
        has_header=False,
        schema={name: wanted.get(name, pl.String) for name in (f"column_{i + 1}" for i in range(len(layout.names)))},
        columns=list(wanted),
        separator=layout.separator,
        ignore_errors=True,
        row_index_name="line",
        row_index_offset=first_line,
    )
    return frame.select(
        pl.col("line").cast(pl.Int64),
        *(pl.col(place).alias(name) for place, name in zip(wanted, layout.columns, strict=True)),
    )


def _true_lines(block: LineBlock, num_rows: int) -> list[int] | None:
    """Return each row's first line where quoted fields run over lines, None where a row is a line."""
    if b'"' not in block.data or block.data.count(b"\n") + (not block.data.endswith(b"\n")) == num_rows:
        return None
    lines = [line for line, _ in _walk(block)]
    return lines if len(lines) == num_rows else None


def _parse_by_line(block: LineBlock, layout: CsvLayout) -> tuple[pl.DataFrame, tuple[Fault, ...]]:
    """Read a block that Polars refuses: lines with too many fields are faults, the rest is read again."""
    kept, lines, faults = io.StringIO(newline=""), [], []
    writer = csv.writer(kept, delimiter=layout.separator, lineterminator="\n")
    for line, fields in _walk(block, layout.separator):
        if len(fields) > len(layout.names):
            reason = f"more fields than the header has: {len(fields)}, not {len(layout.names)}"
            faults.append(Fault(line, "too many fields", reason, shorten(layout.separator.join(fields))))
        elif fields:
            writer.writerow([*fields, *[""] * (len(layout.names) - len(fields))])
            lines.append(line)
    frame = _parse(kept.getvalue().encode(), layout, 1)
    return frame.with_columns(pl.Series("line", lines, dtype=pl.Int64)), tuple(faults)


def _walk(block: LineBlock, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its first line, empty lines as rows without fields."""
    csv.field_size_limit(MAX_FIELD_CHARS)
    text = io.StringIO(block.data.decode("utf-8", errors="replace").replace("\0", " "), newline="")
    reader = csv.reader(text, delimiter=separator)
    line = block.first_line
    for fields in reader:
        yield line, fields
        line = block.first_line + reader.line_num


def _lines_with_fields(block: LineBlock) -> pl.Series:
    """Return the lines that are not empty."""
    lines = block.data.split(b"\n")
    return pl.Series(block.first_line + np.flatnonzero([bool(line.strip()) for line in lines]), dtype=pl.Int64)


def line_text(block: LineBlock, line: int) -> str:
    """Return one line of a block as text."""
    lines = block.data.split(b"\n", line - block.first_line + 1)
    place = line - block.first_line
    return lines[place].decode("utf-8", errors="replace") if 0 <= place < len(lines) else ""
