"""Files of any layout as streams of text columns that bear our names: CSV, JSON lines and Parquet."""

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from workloads.readers.csv_table import CsvLayout, Part, csv_fields, parse_csv, read_csv_blocks
from workloads.readers.entries import find
from workloads.readers.format import Progress, Sample
from workloads.readers.json_table import Row, parse_rows, refuse_media_in
from workloads.readers.line_blocks import LineBlock, read_line_blocks
from workloads.trace import TraceError

SEPARATORS = ",;\t|"
BATCH_ROWS = 1 << 17
NO_LINES = b""


class TextSource(NamedTuple):
    """Blocks of a file, and how one becomes a `Part` with a text column for each column of ours, and `line`."""

    blocks: Iterator[Any]
    parse: Callable[[Any], Part]


def columns_of(sample: Sample) -> tuple[str, ...]:
    """Return the columns that a mapping may name; those of nested objects by dotted paths."""
    if sample.kind == "csv":
        line = _first_line(sample)
        return csv_fields(line, separator_of(line))
    if sample.kind == "json_lines" and isinstance(sample.row, dict):
        return tuple(_leaves(sample.row))
    return sample.names


def separator_of(line: str) -> str:
    """Return what separates the fields of a header: the character that splits it into most."""
    return max(SEPARATORS, key=lambda one: len(next(csv.reader([line], delimiter=one), ())))


def open_texts(sample: Sample, mapping: Mapping[str, str], progress: Progress | None) -> TextSource:
    """Open a file for its mapped columns."""
    match sample.kind:
        case "parquet":
            return TextSource(_batches(sample, mapping, progress), _parse_batch)
        case "csv":
            line = _first_line(sample)
            separator = separator_of(line)
            names = csv_fields(line, separator)
            layout = CsvLayout(names, dict.fromkeys(mapping.values(), pl.String), separator)
            return TextSource(
                read_csv_blocks(sample.path, progress), partial(_parse_csv, layout=layout, mapping=mapping)
            )
        case _:
            return TextSource(
                read_line_blocks(sample.path, progress=progress), partial(_parse_json, sample=sample, mapping=mapping)
            )


def _first_line(sample: Sample) -> str:
    return next((line for line in sample.head.splitlines() if line.strip()), "")


def _leaves(row: Row, prefix: str = "") -> Iterator[str]:
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield f"{prefix}{key}"


def _parse_csv(block: LineBlock, *, layout: CsvLayout, mapping: Mapping[str, str]) -> Part:
    part = parse_csv(block, layout)
    return part._replace(
        frame=part.frame.select("line", *(pl.col(theirs).alias(ours) for ours, theirs in mapping.items()))
    )


def _parse_json(block: LineBlock, *, sample: Sample, mapping: Mapping[str, str]) -> Part:
    refuse_media_in(block, sample.path)
    return parse_rows(block, dict.fromkeys(mapping, pl.String), partial(_texts_of, mapping=mapping))


def _texts_of(row: Row, *, mapping: Mapping[str, str]) -> Row:
    return {ours: _text(find(row, theirs)) for ours, theirs in mapping.items()}


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _batches(sample: Sample, mapping: Mapping[str, str], progress: Progress | None) -> Iterator[pl.DataFrame]:
    size, done = sample.path.stat().st_size, 0
    wanted = list(dict.fromkeys(mapping.values()))
    try:
        with pq.ParquetFile(sample.path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
                frame = pl.DataFrame(pl.from_arrow(batch))
                yield frame.select(
                    *(_as_text(frame[theirs]).alias(ours) for ours, theirs in mapping.items()),
                    pl.Series("line", range(done + 1, done + frame.height + 1), dtype=pl.Int64),
                )
                done += frame.height
                if progress is not None:
                    progress(size * done // max(1, file.metadata.num_rows), size)
    except (pa.ArrowException, OSError) as error:
        raise TraceError(
            f"the Parquet file cannot be read ({error})", path=sample.path, advice="Was the file cut off?"
        ) from error


def _parse_batch(frame: pl.DataFrame) -> Part:
    return Part(frame, (), LineBlock(NO_LINES, 1))


def _as_text(values: pl.Series) -> pl.Series:
    """Spell a column; times with a zone are spelled in UTC."""
    if isinstance(values.dtype, pl.Datetime):
        if values.dtype.time_zone is None:
            return values.dt.strftime("%Y-%m-%d %H:%M:%S%.9f")
        return values.dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%d %H:%M:%S%.9fZ")
    return values.cast(pl.String, strict=False)
