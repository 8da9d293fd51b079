"""Qwen-Bailian JSONL: `chat_id`, `parent_chat_id` (-1 for a root), `timestamp` (s), lengths, ids of 16-token blocks.

A session is the tree of requests under one root. The publisher hashes each block by itself, so ids are chained here:
after that an id stands for a whole prefix. Source: Wang et al., KVCache Cache in the Wild, USENIX ATC 2025.
"""

import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.block_chains import chain_ids
from workloads.readers.chat_trees import find_roots
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.gathering import TOKENS, Cell, Sifted, gather, sift
from workloads.readers.identity import hash_identities
from workloads.readers.json_table import Row, parse_json_lines
from workloads.readers.json_values import IDS_EXPECTED, ids_of, number_of, whole_of
from workloads.readers.line_blocks import LineBlock, read_line_blocks
from workloads.readers.units import UNIT_NS, UNIT_WORDS, TimeUnit, number_ns
from workloads.trace import Trace

NAME = "bailian"
KEYS = frozenset({"chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"})
DEFAULT_UNIT: TimeUnit = "s"
RESOLUTION_STEPS = 1000  # times have three decimals
BLOCK_TOKENS = 16
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "chat_id": pl.Int64,
    "parent_chat_id": pl.Int64,
    "timestamp": pl.Float64,
    "input_length": pl.Int64,
    "output_length": pl.Int64,
    "type": pl.String,
    "hash_ids": pl.List(pl.Int64),
}
CELLS = {
    "stamp_ns": Cell("timestamp", "a number"),
    "input_tokens": Cell("input_length", TOKENS),
    "output_tokens": Cell("output_length", TOKENS),
    "chat_id": Cell("chat_id", "a whole number"),
    "parent_chat_id": Cell("parent_chat_id", "a whole number, -1 for a root"),
}
IDS_CELL = {"block_ids": Cell("hash_ids", IDS_EXPECTED)}


def _recognises(sample: Sample) -> bool:
    return sample.kind == "json_lines" and set(sample.names) >= KEYS


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one file, its times in seconds where the options name no unit.

    Raises:
        TraceError: names the line that is no row of this format, or chats that are their own ancestors.
    """
    unit, has_ids = options.unit or DEFAULT_UNIT, "hash_ids" in sample.names

    def work(block: LineBlock) -> Sifted:
        return _sifted(block, unit, has_ids=has_ids)

    gathered = gather(read_line_blocks(sample.path, progress=options.progress), work, path=sample.path, options=options)
    rows, notes = _with_sessions(gathered.rows, sample, options.salt)
    return assemble(
        RawRows(
            rows,
            format=NAME,
            path=sample.path,
            resolution_ns=max(1, UNIT_NS[unit] // RESOLUTION_STEPS),
            time_unit=UNIT_WORDS[unit],
            is_unit_given=options.unit is not None,
            block_tokens=BLOCK_TOKENS if has_ids else None,
            dropped=gathered.dropped,
            notes=(*gathered.notes, *notes),
        )
    )


def _sifted(block: LineBlock, unit: TimeUnit, *, has_ids: bool) -> Sifted:
    part = parse_json_lines(block, SCHEMA, _row)
    rows = part.frame.select(
        number_ns("timestamp", unit).alias("stamp_ns"),
        pl.col("input_length").alias("input_tokens"),
        pl.col("output_length").alias("output_tokens"),
        pl.lit(value=False).alias("is_failed"),
        "chat_id",
        "parent_chat_id",
        "type",
        *([pl.col("hash_ids").alias("block_ids")] if has_ids else []),
        "line",
    )
    sifted = sift(part, rows, CELLS | (IDS_CELL if has_ids else {}))
    if not has_ids:
        return sifted
    return sifted._replace(rows=sifted.rows.with_columns(chain_ids(sifted.rows["block_ids"])))


def _with_sessions(rows: pl.DataFrame, sample: Sample, salt: bytes) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Put a session in place of chat ids, and say what of the rows is not as one would expect."""
    roots, num_orphans = find_roots(rows["chat_id"].to_numpy(), rows["parent_chat_id"].to_numpy(), sample.path)
    notes = [f"{num_orphans} requests follow one that is not in the file; their sessions begin in the middle"]
    notes = notes if num_orphans else []
    kinds = rows["type"].drop_nulls().value_counts(sort=True).rows()
    if any(kind != "text" for kind, _ in kinds):
        shown = ", ".join(f"{kind} {count}" for kind, count in kinds)
        notes.append(f"requests by type: {shown}; all are taken for text of their length")
    if "block_ids" in rows.columns:
        counts = (pl.col("input_tokens") + BLOCK_TOKENS - 1) // BLOCK_TOKENS
        num_odd = int(rows.select((pl.col("block_ids").list.len() != counts).sum()).item())
        notes += [f"{num_odd} requests have more or fewer ids than blocks of {BLOCK_TOKENS} tokens"] if num_odd else []
    session = hash_identities(pl.Series("session_id", roots), "session", salt=salt)
    return rows.drop("chat_id", "parent_chat_id", "type").with_columns(session), tuple(notes)


def _row(row: Row) -> Row:
    kind = row.get("type")
    return {
        "chat_id": whole_of(row, "chat_id"),
        "parent_chat_id": whole_of(row, "parent_chat_id"),
        "timestamp": number_of(row, "timestamp"),
        "input_length": whole_of(row, "input_length"),
        "output_length": whole_of(row, "output_length"),
        "type": kind if isinstance(kind, str) else None,
        "hash_ids": ids_of(row, "hash_ids"),
    }


FORMAT = Format(
    NAME, "JSON lines with chat_id, parent_chat_id, timestamp, input_length, output_length", _recognises, _read
)
