"""Azure LLM inference traces, `TIMESTAMP,ContextTokens,GeneratedTokens`: of 2023 and 2024, told apart by their times.

2023: naive times with seven fractional digits (100 ns), CRLF. 2024: offset +00:00, six digits, some without a
fraction. Sources: Azure Public Dataset; Splitwise (Patel et al., ISCA 2024), DynamoLLM (Stojkovic et al., 2024).
"""

import re
from io import BytesIO

import polars as pl
import pyarrow as pa
from pyarrow import csv

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.clock_times import EXPECTED, parse_clock_times
from workloads.readers.csv_table import CsvLayout, parse_csv, read_csv_blocks
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.gathering import TOKENS, Cell, Sifted, gather, sift
from workloads.readers.line_blocks import LineBlock
from workloads.readers.zones import check_zone, clock_columns, settle_zones
from workloads.trace import Trace

HEADER = frozenset({"TIMESTAMP", "ContextTokens", "GeneratedTokens"})
COLUMNS: dict[str, type[pl.DataType]] = {
    "TIMESTAMP": pl.String,
    "ContextTokens": pl.Int64,
    "GeneratedTokens": pl.Int64,
}
SOUND_TYPES = {"TIMESTAMP": pa.timestamp("ns", "UTC"), "ContextTokens": pa.int32(), "GeneratedTokens": pa.int32()}
UNUSUAL = (b'"', b"x", b"X")  # quotes, and hexadecimal numbers, which Arrow takes for numbers
CELLS = {
    "stamp_ns": Cell("TIMESTAMP", EXPECTED),
    "input_tokens": Cell("ContextTokens", TOKENS),
    "output_tokens": Cell("GeneratedTokens", TOKENS),
}
RESOLUTION_NS = {"azure2023": 100, "azure2024": 1000}
HAS_OFFSET = re.compile(r"\d\d:\d\d:\d\d[.0-9]*(?:Z|[+-]\d\d)")


def _recognises_2023(sample: Sample) -> bool:
    return sample.kind == "csv" and set(sample.names) >= HEADER and HAS_OFFSET.search(sample.head) is None


def _recognises_2024(sample: Sample) -> bool:
    return sample.kind == "csv" and set(sample.names) >= HEADER and HAS_OFFSET.search(sample.head) is not None


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one file.

    Raises:
        TraceError: names the line that is no row of this format, or asks for the zone of times without an offset.
    """
    path, layout = sample.path, CsvLayout(sample.names, COLUMNS)
    check_zone(options.zone, path)

    def work(block: LineBlock) -> Sifted:
        return _sifted(block, layout, options.zone)

    gathered = gather(read_csv_blocks(path, options.progress), work, path=path, options=options)
    rows, has_offset = settle_zones(gathered.rows, options.zone, path)
    name = "azure2024" if has_offset else "azure2023"
    return assemble(
        RawRows(
            rows,
            format=name,
            path=path,
            resolution_ns=RESOLUTION_NS[name],
            dropped=gathered.dropped,
            notes=gathered.notes,
        )
    )


def _sifted(block: LineBlock, layout: CsvLayout, zone: str | None) -> Sifted:
    return _sound(block, layout.names) or _checked(block, layout, zone)


def _sound(block: LineBlock, names: tuple[str, ...]) -> Sifted | None:
    """Read a block of sound rows with offsets, at several times the speed; None where one row is anything else."""
    if any(mark in block.data for mark in UNUSUAL):
        return None
    try:
        table = csv.read_csv(
            BytesIO(block.data),
            read_options=csv.ReadOptions(use_threads=False, block_size=len(block.data), column_names=names),
            convert_options=csv.ConvertOptions(column_types=SOUND_TYPES, include_columns=list(SOUND_TYPES)),
        )
    except pa.ArrowInvalid:
        return None
    if any(column.null_count for column in table.columns):
        return None
    frame = pl.DataFrame(pl.from_arrow(table))
    return Sifted(
        frame.select(
            pl.col("TIMESTAMP").cast(pl.Int64).alias("stamp_ns"),
            pl.lit(value=True).alias("has_offset"),
            pl.col("ContextTokens").alias("input_tokens"),
            pl.col("GeneratedTokens").alias("output_tokens"),
            pl.lit(value=False).alias("is_failed"),
        ),
        (),
    )


def _checked(block: LineBlock, layout: CsvLayout, zone: str | None) -> Sifted:
    part = parse_csv(block, layout)
    rows = part.frame.select(
        *clock_columns(parse_clock_times(part.frame["TIMESTAMP"]), zone),
        pl.col("ContextTokens").alias("input_tokens"),
        pl.col("GeneratedTokens").alias("output_tokens"),
        pl.lit(value=False).alias("is_failed"),
        "line",
    )
    return sift(part, rows, CELLS)


FORMATS = (
    Format(
        "azure2023", "header TIMESTAMP,ContextTokens,GeneratedTokens, times without offset", _recognises_2023, _read
    ),
    Format("azure2024", "the same header, times with an offset", _recognises_2024, _read),
)
