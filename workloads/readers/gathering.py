"""Parts of a file turned into rows of a trace while it streams: what is unreadable is sifted out, no text is held.

The one place that says which values a row of numbers must have.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from workloads.readers.csv_table import Part, line_text
from workloads.readers.faults import MIN_ROW_BYTES, NUM_SHOWN, Fault, Faults, shorten
from workloads.readers.format import ReadOptions
from workloads.readers.line_blocks import LineBlock
from workloads.readers.parallel import map_in_order
from workloads.readers.unpacking import is_plain
from workloads.trace import TraceError

LENGTHS = ("input_tokens", "output_tokens")
INT32_MAX = 2**31 - 1
PACKING_LIMIT = 1 << 16  # no packing, nor Parquet's, makes a log of numbers smaller by more
TOKENS = "a whole number of tokens"


class Cell(NamedTuple):
    """Which of the file's columns a column of ours comes from, and in words, what it must be."""

    theirs: str
    expected: str


class Sifted(NamedTuple):
    """The readable rows of one part, and the faults of the others."""

    rows: pl.DataFrame
    faults: tuple[Fault, ...]


class Gathered(NamedTuple):
    """All readable rows in file order, how many rows the file has, and what was left out."""

    rows: pl.DataFrame
    num_rows: int
    dropped: Mapping[str, int]
    notes: tuple[str, ...]


def gather(
    blocks: Iterable[LineBlock],
    work: Callable[[LineBlock], Sifted],
    *,
    path: Path,
    options: ReadOptions,
) -> Gathered:
    """Work on blocks in order, and put the rows together.

    Raises:
        TraceError: there are no rows, or more are unreadable than the options tolerate.
    """
    faults = Faults(path, options.max_bad_ratio)
    max_rows = _most_rows(path)
    parts, num_rows = [], 0
    for rows, bad in map_in_order(work, blocks):
        num_rows += rows.height + len(bad)
        parts.append(rows)
        if bad:
            faults.add(bad, max_rows=max_rows)
    faults.refuse_beyond(num_rows)
    if not parts:
        raise TraceError("no requests in it", path=path, advice="Give a trace with at least one row")
    rows = pl.concat(parts, how="diagonal")
    return Gathered(rows, num_rows, dict(faults.counts), faults.note(num_rows))


def _most_rows(path: Path) -> int:
    """Return a number of rows that a file of this size cannot exceed."""
    packing_limit = 1 if is_plain(path) else PACKING_LIMIT
    return path.stat().st_size * packing_limit // MIN_ROW_BYTES + 1


def sift(part: Part, rows: pl.DataFrame, cells: Mapping[str, Cell]) -> Sifted:
    """Take out rows with a null in one of `cells`' columns or with a length that no prompt has; lengths become int32.

    `rows` are the part's rows with our columns and `line`.
    """
    is_bad = _is_bad(rows, cells)
    if is_bad.any():
        bad = rows.filter(is_bad)
        shown = (_fault(row, cells, part.block) for row in bad.head(NUM_SHOWN).iter_rows(named=True))
        others = (_fault(row, cells, None) for row in bad.slice(NUM_SHOWN).iter_rows(named=True))
        faults = (*shown, *others)
        rows = rows.filter(~is_bad)
    else:
        faults = ()
    lengths = [name for name in LENGTHS if name in rows.columns]
    in_order = tuple(sorted((*part.faults, *faults), key=lambda fault: fault.line))
    return Sifted(rows.drop("line").with_columns(pl.col(*lengths).cast(pl.Int32)), in_order)


def _is_bad(rows: pl.DataFrame, cells: Mapping[str, Cell]) -> pl.Series:
    is_missing = [pl.col(name).is_null() for name in cells]
    is_absurd = [~pl.col(name).is_between(0, INT32_MAX) for name in LENGTHS if name in rows.columns]
    return rows.select(pl.any_horizontal(*is_missing, *(one.fill_null(value=False) for one in is_absurd))).to_series()


def _fault(row: dict[str, object], cells: Mapping[str, Cell], block: LineBlock | None) -> Fault:
    """Say what is wrong with a row; it is shown where its block is given, which costs a walk through the block."""
    line = int(str(row["line"]))
    missing = next((name for name in cells if row[name] is None), None)
    if missing is not None:
        theirs, expected = cells[missing]
        seen = "" if block is None else shorten(line_text(block, line))
        return Fault(line, f"{theirs} unreadable", f"{theirs} must be {expected}", seen)
    name = next(name for name in LENGTHS if not 0 <= int(str(row[name])) <= INT32_MAX)
    theirs = cells[name].theirs if name in cells else name
    reason = f"{theirs} is {row[name]}; a token count lies between 0 and {INT32_MAX}"
    return Fault(line, f"{theirs} out of range", reason)
