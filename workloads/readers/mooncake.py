"""Mooncake JSONL: `timestamp` (ms), `input_length`, `output_length`, `hash_ids` of 512-token blocks.

An id stands for the whole prefix up to its block, so `len(hash_ids) == ceil(input_length / 512)`. Variants have a
`session_id`, a `delay` (ms) in place of a time, and `text_input` or `messages` in place of a length.
Sources: Mooncake (Qin et al., FAST 2025); AIPerf's documentation of trace replay.
"""

import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.gathering import Sifted, gather
from workloads.readers.identity import hash_identities
from workloads.readers.line_blocks import LineBlock, read_line_blocks
from workloads.readers.mooncake_delays import place_delayed
from workloads.readers.mooncake_rows import BLOCK_TOKENS, TEXT_KEYS, Columns, sift_block
from workloads.readers.tokens import BLOCK_TOKENS as TEXT_BLOCK_TOKENS
from workloads.readers.units import UNIT_NS, UNIT_WORDS, TimeUnit
from workloads.trace import Trace

NAME = "mooncake"
DEFAULT_UNIT: TimeUnit = "ms"


def _recognises(sample: Sample) -> bool:
    keys = set(sample.names)
    has_time, has_input = keys & {"timestamp", "delay"}, keys & {"input_length", *TEXT_KEYS}
    return sample.kind == "json_lines" and "output_length" in keys and bool(has_time) and bool(has_input)


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one file, its times in milliseconds where the options name no unit.

    Raises:
        TraceError: names the line that is no row of this format, or asks about more than text, or for a tokenizer.
    """
    unit = options.unit or DEFAULT_UNIT
    columns = Columns(sample.path, unit, "hash_ids" in sample.names, options)

    def work(block: LineBlock) -> Sifted:
        return sift_block(block, columns)

    blocks = read_line_blocks(sample.path, progress=options.progress)
    gathered = gather(blocks, work, path=sample.path, options=options)
    rows, delay_notes = place_delayed(gathered.rows, sample.path)
    rows, block_tokens = _settle_blocks(rows, has_ids=columns.has_ids)
    return assemble(
        RawRows(
            _identified(rows, options.salt),
            format=NAME,
            path=sample.path,
            resolution_ns=UNIT_NS[unit],
            time_unit=UNIT_WORDS[unit],
            is_unit_given=options.unit is not None,
            block_tokens=block_tokens,
            dropped=gathered.dropped,
            notes=(*delay_notes, *gathered.notes),
        )
    )


def _settle_blocks(rows: pl.DataFrame, *, has_ids: bool) -> tuple[pl.DataFrame, int | None]:
    """Keep block ids where every request has them; where some lack them, reuse would come out too small."""
    if "block_ids" not in rows.columns:
        return rows, None
    if rows["block_ids"].null_count():
        return rows.drop("block_ids"), None
    return rows, BLOCK_TOKENS if has_ids else TEXT_BLOCK_TOKENS


def _identified(rows: pl.DataFrame, salt: bytes) -> pl.DataFrame:
    if "session_id" not in rows.columns:
        return rows
    if rows["session_id"].null_count() == rows.height:
        return rows.drop("session_id")
    return rows.with_columns(hash_identities(rows["session_id"], "session", salt=salt))


FORMAT = Format(NAME, "JSON lines with timestamp or delay, input_length or text, output_length", _recognises, _read)
