"""Rows of Mooncake files and of their variants, checked block by block."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from workloads.readers.csv_table import Part
from workloads.readers.faults import Fault
from workloads.readers.format import ReadOptions
from workloads.readers.gathering import TOKENS, Cell, Sifted, sift
from workloads.readers.json_table import NoRowError, Row, parse_json_lines, parse_rows, refuse_media_in
from workloads.readers.json_values import IDS_EXPECTED, ids_of, number_of, whole_of
from workloads.readers.line_blocks import LineBlock
from workloads.readers.messages import texts_of
from workloads.readers.tokens import Texts, count_texts
from workloads.readers.units import TimeUnit, number_ns
from workloads.trace import TraceError

BLOCK_TOKENS = 512
TEXT_KEYS = ("text_input", "messages")
MENTIONS_TEXT = tuple(f'"{key}"'.encode() for key in TEXT_KEYS)
IDS = pl.List(pl.Int64)
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "timestamp": pl.Float64,
    "delay": pl.Float64,
    "input_length": pl.Int64,
    "output_length": pl.Int64,
    "session_id": pl.String,
    "hash_ids": IDS,
}
TEXT_SCHEMA = {**SCHEMA, "pieces": pl.List(pl.String)}
CELLS = {
    "has_time": Cell("timestamp", "a number"),
    "input_tokens": Cell("input_length", TOKENS),
    "output_tokens": Cell("output_length", TOKENS),
}
IDS_CELL = Cell("hash_ids", IDS_EXPECTED)


class Columns(NamedTuple):
    """How one file is read: the unit of its times, whether it has block ids, and what a person wants."""

    path: Path
    unit: TimeUnit
    has_ids: bool
    options: ReadOptions


def sift_block(block: LineBlock, columns: Columns) -> Sifted:
    """Read one block: `stamp_ns` and `delay_ns` (one may be null), lengths, `session_id`, block ids, text if wanted.

    Raises:
        TraceError: a line holds more than text, or text whose tokens nobody can count.
    """
    refuse_media_in(block, columns.path)
    part = parse_json_lines(block, SCHEMA, _plain_row)
    texts = _texts(part, columns)
    if texts is not None:
        part = texts
    has_blocks = columns.has_ids or "counted_ids" in part.frame.columns
    rows = part.frame.select(
        number_ns("timestamp", columns.unit).alias("stamp_ns"),
        _delay_ns(),
        _has_time(),
        pl.col("input_length").alias("input_tokens"),
        pl.col("output_length").alias("output_tokens"),
        pl.lit(value=False).alias("is_failed"),
        "session_id",
        *([pl.col("hash_ids" if columns.has_ids else "counted_ids").alias("block_ids")] if has_blocks else []),
        *([pl.col("text")] if "text" in part.frame.columns and columns.options.keep_text else []),
        "line",
    )
    part, rows = _check_blocks(part, rows) if columns.has_ids else (part, rows)
    sifted = sift(part, rows, {**CELLS, "block_ids": IDS_CELL} if columns.has_ids else CELLS)
    return sifted._replace(rows=sifted.rows.drop("has_time"))


def _delay_ns() -> pl.Expr:
    return number_ns("delay", "ms").alias("delay_ns")


def _has_time() -> pl.Expr:
    """Return true where a request's time is known, or its distance from its session's request before; else null."""
    is_placed = pl.col("delay").is_not_null() & pl.col("session_id").is_not_null()
    return pl.when(pl.col("timestamp").is_not_null() | is_placed).then(pl.lit(value=True)).alias("has_time")


def _texts(part: Part, columns: Columns) -> Part | None:
    """Read a block again with its texts where those are needed: for lengths that are missing, or to be kept."""
    mentions = any(word in part.block.data for word in MENTIONS_TEXT)
    if not mentions or not (columns.options.keep_text or part.frame["input_length"].null_count()):
        return None
    return _count(parse_rows(part.block, TEXT_SCHEMA, _text_row), columns)


def _count(part: Part, columns: Columns) -> Part:
    frame, count_tokens = part.frame, columns.options.count_tokens
    uncounted = frame.filter(pl.col("input_length").is_null() & pl.col("pieces").is_not_null())
    text = pl.col("pieces").list.join("\n").alias("text")
    if uncounted.height == 0:
        return part._replace(frame=frame.with_columns(text))
    if count_tokens is None:
        raise TraceError(
            "a prompt as text and no input_length: its tokens must be counted",
            path=columns.path,
            row=int(uncounted["line"][0]),
            advice="Name the model's tokenizer, as --tokenizer PATH, or add input_length to each row",
        )
    pieces = [None if one is None else Texts(tuple(one), None) for one in frame["pieces"].to_list()]
    counted = count_texts(pieces, count_tokens, salt=columns.options.salt)
    lengths = pl.Series(counted.input_tokens, dtype=pl.Int64)
    frame = frame.with_columns(text, pl.coalesce("input_length", lengths).alias("input_length"))
    if counted.blocks is not None:
        frame = frame.with_columns(pl.Series("counted_ids", counted.blocks, dtype=IDS))
    return part._replace(frame=frame)


def _check_blocks(part: Part, rows: pl.DataFrame) -> tuple[Part, pl.DataFrame]:
    """Take out rows whose number of block ids is not that of their length."""
    expected = (pl.col("input_tokens") + BLOCK_TOKENS - 1) // BLOCK_TOKENS
    is_wrong = (pl.col("block_ids").list.len() != expected).fill_null(value=False)
    wrong = rows.filter(is_wrong)
    if not wrong.height:
        return part, rows
    faults = tuple(_wrong_blocks(row) for row in wrong.iter_rows(named=True))
    return part._replace(faults=(*part.faults, *faults)), rows.filter(~is_wrong)


def _wrong_blocks(row: Row) -> Fault:
    length, num_ids = row["input_tokens"], len(row["block_ids"])
    reason = (
        f"hash_ids has {num_ids} ids for input_length {length}; blocks of {BLOCK_TOKENS} tokens make it "
        f"{-(-length // BLOCK_TOKENS)} (has this trace another block size?)"
    )
    return Fault(row["line"], "wrong number of hash_ids", reason)


def _plain_row(row: Row) -> Row:
    session = row.get("session_id")
    return {
        "timestamp": number_of(row, "timestamp"),
        "delay": number_of(row, "delay"),
        "input_length": whole_of(row, "input_length"),
        "output_length": whole_of(row, "output_length"),
        "session_id": None if session is None else str(session),
        "hash_ids": ids_of(row, "hash_ids"),
    }


def _text_row(row: Row) -> Row:
    if row.get("message_mode") == "delta":
        raise NoRowError("messages without their history", "messages are a delta, so the prompt's length is not known")
    text = row.get("text_input")
    found = Texts((text,), None) if isinstance(text, str) else texts_of(row, ())
    return {**_plain_row(row), "pieces": None if found is None else list(found.prompt)}
