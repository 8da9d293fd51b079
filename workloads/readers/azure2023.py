"""Azure LLM inference traces of 2023: `TIMESTAMP,ContextTokens,GeneratedTokens`, CRLF, naive times.

Times have seven fractional digits (100 ns), one more than microsecond parsers keep. Source: Azure Public Dataset,
Splitwise (Patel et al., ISCA 2024).
"""

from pathlib import Path

import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.csv_table import read_table, refuse_missing
from workloads.trace import Trace

NAME = "azure2023"
HEADER = frozenset({"TIMESTAMP", "ContextTokens", "GeneratedTokens"})
RESOLUTION_NS = 100
SECONDS_CHARS = len("2023-11-16 18:15:46")
FRACTION_DIGITS = 9


def read(path: Path) -> Trace:
    """Read one file.

    Raises:
        TraceError: names the line that is no row of this format.
    """
    frame = read_table(path, {"TIMESTAMP": pl.String, "ContextTokens": pl.Int64, "GeneratedTokens": pl.Int64})
    rows = frame.with_columns(_stamp_ns())
    refuse_missing(
        rows,
        {
            "stamp_ns": "a time as YYYY-MM-DD HH:MM:SS.fffffff without an offset",
            "ContextTokens": "a whole number of tokens",
            "GeneratedTokens": "a whole number of tokens",
        },
        path,
    )
    return assemble(
        RawRows(
            rows.select(
                "stamp_ns",
                "line",
                pl.col("ContextTokens").alias("input_tokens"),
                pl.col("GeneratedTokens").alias("output_tokens"),
                pl.lit(value=False).alias("is_failed"),
            ),
            format=NAME,
            path=path,
            resolution_ns=RESOLUTION_NS,
        )
    )


def _stamp_ns() -> pl.Expr:
    """Parse times as int64 nanoseconds, null where there is none.

    Whole seconds and fraction apart: seconds repeat, so Polars parses each once, ten times faster than whole stamps.
    """
    seconds = (
        pl.col("TIMESTAMP")
        .str.slice(0, SECONDS_CHARS)
        .str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="ns", strict=False)
    )
    rest = pl.col("TIMESTAMP").str.slice(SECONDS_CHARS)
    digits = rest.str.slice(1).str.pad_end(FRACTION_DIGITS, "0")
    is_fraction = rest.str.contains(r"^\.[0-9]{1,9}$")
    fraction = pl.when(rest == "").then(0).when(is_fraction).then(digits.cast(pl.Int64, strict=False))
    return (seconds.cast(pl.Int64) + fraction).alias("stamp_ns")
