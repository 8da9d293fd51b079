"""Azure LLM inference traces, `TIMESTAMP,ContextTokens,GeneratedTokens`: of 2023 and 2024, told apart by their times.

2023: naive times with seven fractional digits (100 ns), CRLF. 2024: offset +00:00, six digits, some without a
fraction. Sources: Azure Public Dataset; Splitwise (Patel et al., ISCA 2024), DynamoLLM (Stojkovic et al., 2024).
"""

import re

import numpy as np
import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.clock_times import EXPECTED, parse_clock_rows, parse_clock_times
from workloads.readers.csv_table import CsvLayout, parse_csv, read_csv_blocks
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.gathering import TOKENS, Cell, Sifted, gather, sift
from workloads.readers.line_blocks import LineBlock
from workloads.readers.plain_fields import short_texts, split_plain, whole_numbers
from workloads.readers.zones import check_zone, clock_columns, settle_zones
from workloads.trace import Trace

HEADER = frozenset({"TIMESTAMP", "ContextTokens", "GeneratedTokens"})
COLUMNS: dict[str, type[pl.DataType]] = {
    "TIMESTAMP": pl.String,
    "ContextTokens": pl.Int64,
    "GeneratedTokens": pl.Int64,
}
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
    return _plain(block, layout.names, zone) or _checked(block, layout, zone)


def _plain(block: LineBlock, names: tuple[str, ...], zone: str | None) -> Sifted | None:
    """Read a block in which every row is sound, at several times the speed; None where one is not."""
    fields = split_plain(block.data, len(names))
    if fields is None:
        return None
    inputs, outputs = (whole_numbers(fields, names.index(name)) for name in ("ContextTokens", "GeneratedTokens"))
    if inputs is None or outputs is None:
        return None
    times = parse_clock_rows(*short_texts(fields, names.index("TIMESTAMP")))
    stamps, has_offset = clock_columns(times, zone)
    if stamps.null_count():
        return None
    columns = {
        "stamp_ns": stamps,
        "has_offset": has_offset,
        "input_tokens": inputs.astype(np.int32),
        "output_tokens": outputs.astype(np.int32),
        "is_failed": pl.repeat(value=False, n=len(stamps), eager=True),
    }
    return Sifted(pl.DataFrame(columns), ())


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
