"""BurstGPT CSV files, read by column name: `_3` inserts `Session ID` and `Elapsed time` after the timestamp.

Times are seconds from midnight of day one. A row whose token counts are all 0 is a failed request: it arrived, so it
stays in the arrivals, and its lengths are unknown. Source: BurstGPT (Wang et al., 2024).
"""

from pathlib import Path

import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.csv_table import read_table, refuse_missing
from workloads.readers.units import UNIT_NS, UNIT_WORDS, TimeUnit, stamps_ns
from workloads.trace import Trace

NAME = "burstgpt"
HEADER = frozenset({"Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"})
SESSION = "Session ID"
DEFAULT_UNIT: TimeUnit = "s"
TOKENS = "a whole number of tokens"


def read(path: Path, header: tuple[str, ...], unit: TimeUnit | None = None) -> Trace:
    """Read one file whose header is given, its times in `unit` (None: seconds).

    Raises:
        TraceError: names the line that is no row of this format.
    """
    has_session = SESSION in header
    assumed = unit or DEFAULT_UNIT
    frame = read_table(path, _columns(has_session=has_session))
    refuse_missing(
        frame,
        {
            "Timestamp": "a number",
            "Request tokens": TOKENS,
            "Response tokens": TOKENS,
            "Total tokens": TOKENS,
            "Log Type": "a word",
        },
        path,
    )
    rows = frame.select(
        stamps_ns("Timestamp", assumed),
        "line",
        pl.col("Request tokens").alias("input_tokens"),
        pl.col("Response tokens").alias("output_tokens"),
        ((pl.col("Request tokens") == 0) & (pl.col("Response tokens") == 0) & (pl.col("Total tokens") == 0)).alias(
            "is_failed"
        ),
        *([pl.col(SESSION).alias("session_id")] if has_session else []),
    )
    num_failed = int(rows["is_failed"].sum())
    return assemble(
        RawRows(
            rows,
            format=NAME,
            path=path,
            resolution_ns=UNIT_NS[assumed],
            time_unit=UNIT_WORDS[assumed],
            is_unit_given=unit is not None,
            notes=(f"{num_failed} requests failed at the source (all token counts 0)",) if num_failed else (),
        )
    )


def _columns(*, has_session: bool) -> dict[str, type[pl.DataType]]:
    columns: dict[str, type[pl.DataType]] = {
        "Timestamp": pl.Float64,
        "Request tokens": pl.Int64,
        "Response tokens": pl.Int64,
        "Total tokens": pl.Int64,
        "Log Type": pl.String,
    }
    return {**columns, SESSION: pl.String} if has_session else columns
