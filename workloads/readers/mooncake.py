"""Mooncake JSONL: `timestamp` (ms), `input_length`, `output_length`, `hash_ids` of 512-token blocks.

An id stands for the whole prefix up to its block, so `len(hash_ids) == ceil(input_length / 512)`. Variants without ids
or with `session_id` are read too. Source: Mooncake (Qin et al., FAST 2025).
"""

import json
from pathlib import Path

import polars as pl

from workloads.readers.assembly import RawRows, assemble, check_lengths
from workloads.readers.media import refuse_media
from workloads.readers.units import UNIT_NS, UNIT_WORDS, TimeUnit, stamps_ns
from workloads.trace import Trace, TraceError

NAME = "mooncake"
KEYS = frozenset({"timestamp", "input_length", "output_length"})
DEFAULT_UNIT: TimeUnit = "ms"
BLOCK_TOKENS = 512
SHOWN_CHARS = 80
REQUIRED: dict[str, type[pl.DataType]] = {
    "timestamp": pl.Float64,
    "input_length": pl.Int64,
    "output_length": pl.Int64,
}


def read(path: Path, keys: frozenset[str], unit: TimeUnit | None = None) -> Trace:
    """Read one file whose first row has the given keys, its times in `unit` (None: milliseconds).

    Raises:
        TraceError: names the line that is no row of this format, or asks about more than text.
    """
    refuse_media(path)
    assumed = unit or DEFAULT_UNIT
    has_blocks = "hash_ids" in keys
    frame = _read_lines(path, keys)
    raw = RawRows(
        frame.select(
            stamps_ns("timestamp", assumed),
            "line",
            pl.col("input_length").alias("input_tokens"),
            pl.col("output_length").alias("output_tokens"),
            pl.lit(value=False).alias("is_failed"),
            *([pl.col("hash_ids").alias("block_ids")] if has_blocks else []),
            *([pl.col("session_id")] if "session_id" in keys else []),
        ),
        format=NAME,
        path=path,
        resolution_ns=UNIT_NS[assumed],
        time_unit=UNIT_WORDS[assumed],
        is_unit_given=unit is not None,
        block_tokens=BLOCK_TOKENS if has_blocks else None,
    )
    if has_blocks:
        check_lengths(raw)
        _check_blocks(raw)
    return assemble(raw)


def _read_lines(path: Path, keys: frozenset[str]) -> pl.DataFrame:
    schema: dict[str, pl.DataType | type[pl.DataType]] = dict(REQUIRED)
    if "hash_ids" in keys:
        schema["hash_ids"] = pl.List(pl.Int64)
    if "session_id" in keys:
        schema["session_id"] = pl.String
    try:
        frame = pl.read_ndjson(path, schema=schema)
    except pl.exceptions.PolarsError as error:
        raise _find_broken_line(path, str(error).splitlines()[0]) from error
    required = [*REQUIRED, *(["hash_ids"] if "hash_ids" in keys else [])]
    if frame.select(pl.any_horizontal(pl.col(*required).is_null()).any()).item():
        raise _find_broken_line(path, f"a row lacks one of {', '.join(required)}", frozenset(required))
    return frame.with_row_index("line", offset=1)


def _check_blocks(raw: RawRows) -> None:
    expected = (pl.col("input_tokens") + BLOCK_TOKENS - 1) // BLOCK_TOKENS
    bad = raw.rows.filter(pl.col("block_ids").list.len() != expected).head(1)
    if bad.height:
        row = bad.row(0, named=True)
        raise TraceError(
            f"hash_ids has {len(row['block_ids'])} ids for input_length {row['input_tokens']}; "
            f"blocks of {BLOCK_TOKENS} tokens make it {-(-row['input_tokens'] // BLOCK_TOKENS)}",
            path=raw.path,
            row=row["line"],
            advice="Is this a trace with another block size? It is not read as Mooncake",
        )


def _find_broken_line(path: Path, fallback: str, required: frozenset[str] = KEYS) -> TraceError:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line, text in enumerate(file, start=1):
            reason = _fault(text, required) if text.strip() else None
            if reason is not None:
                shown = repr(text.strip()[:SHOWN_CHARS])
                return TraceError(
                    f"{reason}, seen {shown}",
                    path=path,
                    row=line,
                    advice="Was the file cut off here? Correct or remove the line",
                )
    return TraceError(fallback, path=path, advice="Give the file as its source publishes it")


def _fault(text: str, required: frozenset[str]) -> str | None:
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        return f"no JSON object ({error.msg} at character {error.pos + 1})"
    if not isinstance(row, dict):
        return "no JSON object"
    for key in sorted(required):
        if key == "hash_ids":
            if not _is_id_list(row.get(key)):
                return "hash_ids must be a list of whole numbers"
        elif not isinstance(row.get(key), int | float) or isinstance(row.get(key), bool):
            return f"{key} must be a number"
    return None


def _is_id_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, int) for one in value)
