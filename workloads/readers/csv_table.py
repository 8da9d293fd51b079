"""A CSV file as a typed table, or the line that keeps it from being one.

Fast where the file is sound: Polars reads whole columns. Only a file that is not sound is walked line by line.
"""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from workloads.trace import TraceError

SHOWN_CHARS = 80
FIRST_DATA_LINE = 2


def read_table(path: Path, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Read the named columns, by name and in any order, with `line` (1 is the header) beside them.

    A cell that does not fit its type, or is not finite, is null. Empty lines are left out.

    Raises:
        TraceError: a line has too many fields, or bytes that are no text.
    """
    try:
        frame = pl.read_csv(
            path,
            columns=list(columns),
            schema_overrides=dict(columns),
            ignore_errors=True,
            row_index_name="line",
            row_index_offset=FIRST_DATA_LINE,
        )
    except pl.exceptions.PolarsError as error:
        raise find_broken_line(path, str(error).splitlines()[0]) from error
    finite = frame.with_columns(pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64)))
    return finite.filter(~pl.all_horizontal(pl.col(*columns).is_null()))


def refuse_missing(frame: pl.DataFrame, columns: Mapping[str, str], path: Path) -> None:
    """Refuse a table with a null in the given columns; the mapping says what each must hold.

    Raises:
        TraceError: names the first such line, shows it, and says what was expected.
    """
    is_bad = frame.select(pl.any_horizontal(pl.col(*columns).is_null())).to_series()
    if not is_bad.any():
        return
    row = frame.row(int(is_bad.arg_max() or 0), named=True)
    name = next(column for column in columns if row[column] is None)
    raise TraceError(
        f"{name} must hold {columns[name]}, seen {show_line(path, row['line'])}",
        path=path,
        row=row["line"],
        advice="Was the file cut off here? Correct or remove the line",
    )


def find_broken_line(path: Path, fallback: str) -> TraceError:
    """Say which line of a file that Polars could not read is at fault."""
    line = _first_line(path, lambda fields, width: len(fields) > width)
    if line is None:
        return TraceError(fallback, path=path, advice="Give the file as its source publishes it")
    return TraceError(
        f"more fields than the header has, seen {show_line(path, line)}",
        path=path,
        row=line,
        advice="Correct or remove the line",
    )


def show_line(path: Path, line: int) -> str:
    """Return one line of a file, quoted and shortened."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        text = next((text for number, text in enumerate(file, start=1) if number == line), "")
    return repr(text.rstrip("\r\n")[:SHOWN_CHARS])


def _first_line(path: Path, is_bad: Callable[[list[str], int], bool]) -> int | None:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(file)
        width = len(next(reader, []))
        return next((reader.line_num for fields in reader if is_bad(fields, width)), None)
