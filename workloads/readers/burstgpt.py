"""BurstGPT CSV files, read by column name: `_3` inserts `Session ID` and `Elapsed time` after the timestamp.

Times are whole seconds from midnight of day one; `Elapsed time` is the seconds that a request took. A row whose token
counts are all 0 is a failed request: it arrived, so it stays in the arrivals, and its lengths are unknown. API calls
have no session. Source: BurstGPT (Wang et al., 2024).
"""

import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.csv_table import CsvLayout, parse_csv, read_csv_blocks
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.gathering import TOKENS, Cell, Sifted, gather, sift
from workloads.readers.identity import hash_identities
from workloads.readers.line_blocks import LineBlock
from workloads.readers.units import UNIT_NS, UNIT_WORDS, TimeUnit, number_ns
from workloads.trace import NS_PER_S, Trace

NAME = "burstgpt"
REQUIRED: dict[str, type[pl.DataType]] = {
    "Timestamp": pl.Float64,
    "Model": pl.String,
    "Request tokens": pl.Int64,
    "Response tokens": pl.Int64,
    "Total tokens": pl.Int64,
    "Log Type": pl.String,
}
OPTIONAL: dict[str, type[pl.DataType]] = {"Session ID": pl.String, "Elapsed time": pl.Float64}
DEFAULT_UNIT: TimeUnit = "s"
CELLS = {
    "stamp_ns": Cell("Timestamp", "a number"),
    "input_tokens": Cell("Request tokens", TOKENS),
    "output_tokens": Cell("Response tokens", TOKENS),
    "is_failed": Cell("Total tokens", TOKENS),
    "log_type": Cell("Log Type", "a word"),
}


def _recognises(sample: Sample) -> bool:
    return sample.kind == "csv" and set(sample.names) >= set(REQUIRED)


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one file, its times in seconds where the options name no unit.

    Raises:
        TraceError: names the line that is no row of this format.
    """
    assumed = options.unit or DEFAULT_UNIT
    optional = {name: kind for name, kind in OPTIONAL.items() if name in sample.names}
    layout = CsvLayout(sample.names, REQUIRED | optional)

    def work(block: LineBlock) -> Sifted:
        return _sifted(block, layout, assumed)

    gathered = gather(read_csv_blocks(sample.path, options.progress), work, path=sample.path, options=options)
    rows = gathered.rows
    if "session_id" in rows.columns:
        rows = rows.with_columns(hash_identities(rows["session_id"], "session", salt=options.salt).alias("session_id"))
    num_failed = int(rows["is_failed"].sum()) if rows.height else 0
    return assemble(
        RawRows(
            rows,
            format=NAME,
            path=sample.path,
            resolution_ns=UNIT_NS[assumed],
            time_unit=UNIT_WORDS[assumed],
            is_unit_given=options.unit is not None,
            dropped=gathered.dropped,
            notes=(*_failure_note(num_failed), *gathered.notes),
        )
    )


def _sifted(block: LineBlock, layout: CsvLayout, unit: TimeUnit) -> Sifted:
    part = parse_csv(block, layout)
    is_failed = (pl.col("Request tokens") == 0) & (pl.col("Response tokens") == 0) & (pl.col("Total tokens") == 0)
    rows = part.frame.select(
        number_ns("Timestamp", unit).alias("stamp_ns"),
        pl.col("Request tokens").alias("input_tokens"),
        pl.col("Response tokens").alias("output_tokens"),
        pl.when(pl.col("Total tokens").is_not_null()).then(is_failed).alias("is_failed"),
        pl.col("Model").alias("model"),
        pl.col("Log Type").alias("log_type"),
        *([pl.col("Session ID").alias("session_id")] if "Session ID" in layout.columns else []),
        *([_service_ns()] if "Elapsed time" in layout.columns else []),
        "line",
    )
    sifted = sift(part, rows, CELLS)
    return sifted._replace(rows=sifted.rows.drop("log_type"))


def _service_ns() -> pl.Expr:
    """Return how long requests took; failed ones, and those with no time of at least 0, have none."""
    took = pl.col("Elapsed time")
    return pl.when(took >= 0).then((took * NS_PER_S).round().cast(pl.Int64)).alias("service_ns")


def _failure_note(num_failed: int) -> tuple[str, ...]:
    return (f"{num_failed} requests failed at the source (all token counts 0)",) if num_failed else ()


FORMAT = Format(NAME, "header Timestamp,Model,Request tokens,...", _recognises, _read)
