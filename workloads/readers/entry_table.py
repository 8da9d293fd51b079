"""From entries to a checked trace: identities hashed, texts counted and dropped, unknown lengths said to be unknown."""

from collections.abc import Callable, Iterable
from itertools import islice

import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.entries import Entry, Log
from workloads.readers.format import ReadOptions
from workloads.readers.identity import hash_identities
from workloads.readers.tokens import BLOCK_TOKENS, Texts, count_texts
from workloads.trace import Trace

BATCH_ROWS = 1 << 14
TYPES: dict[str, type[pl.DataType]] = {
    "line": pl.Int64,
    "stamp_ns": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "is_failed": pl.Boolean,
    "session_id": pl.String,
    "client_id": pl.String,
    "model": pl.String,
    "ttft_ns": pl.Int64,
    "service_ns": pl.Int64,
    "cached_tokens": pl.Int64,
}
OPTIONAL = ("session_id", "client_id", "model", "ttft_ns", "service_ns", "text")
BLOCKS = pl.List(pl.Int64)


def trace_of(entries: Iterable[Entry], log: Log, *, notes: Callable[[], tuple[str, ...]] = tuple) -> Trace:
    """Make a trace of entries, streaming: only columns of numbers and hashes are kept; `notes` are asked for last.

    Raises:
        TraceError: more unreadable rows than tolerated, no requests, or times that cannot be.
    """
    stream = iter(entries)
    frames = [_frame([], log.options)]
    while batch := list(islice(stream, BATCH_ROWS)):
        frames.append(_frame(batch, log.options))
    dropped, bad_notes = log.tally.settle()
    found = pl.concat(frames)
    has_blocks = _has_blocks(found)
    rows = _settle_lengths(found, has_blocks=has_blocks)
    return assemble(
        RawRows(
            rows,
            format=log.format,
            path=log.sample.path,
            resolution_ns=log.clock.resolution_ns,
            time_unit=log.clock.time_unit if log.known_unit is None else None,
            is_unit_given=log.options.unit is not None,
            block_tokens=BLOCK_TOKENS if has_blocks else None,
            dropped=dropped,
            notes=(*notes(), *log.clock.notes(), *_length_notes(found, rows, has_blocks=has_blocks), *bad_notes),
        )
    )


def _frame(batch: list[Entry], options: ReadOptions) -> pl.DataFrame:
    frame = pl.DataFrame(
        [pl.Series(name, [getattr(one, name) for one in batch], dtype=dtype) for name, dtype in TYPES.items()]
    )
    texts = [one.texts for one in batch]
    shown = ["\n".join(one.prompt) if one is not None and options.keep_text else None for one in texts]
    return frame.with_columns(
        hash_identities(frame["session_id"], "session", salt=options.salt),
        hash_identities(frame["client_id"], "client", salt=options.salt),
        pl.Series("text", shown, dtype=pl.String),
        *_counts(texts, options),
    )


def _counts(texts: list[Texts | None], options: ReadOptions) -> list[pl.Series]:
    nothing: list[None] = [None] * len(texts)
    if options.count_tokens is None:
        columns = (nothing, nothing, nothing)
    else:
        found = count_texts(texts, options.count_tokens, salt=options.salt)
        columns = (found.input_tokens, found.output_tokens, nothing if found.blocks is None else found.blocks)  # type: ignore[assignment]
    return [
        pl.Series("counted_input", columns[0], dtype=pl.Int64),
        pl.Series("counted_output", columns[1], dtype=pl.Int64),
        pl.Series("block_ids", columns[2], dtype=BLOCKS),
    ]


def _has_blocks(found: pl.DataFrame) -> bool:
    """Say whether every answered prompt has blocks; where some lack them, reuse would come out too small."""
    answered = found.filter(~pl.col("is_failed"))
    return answered.height > 0 and answered["block_ids"].null_count() == 0


def _settle_lengths(found: pl.DataFrame, *, has_blocks: bool) -> pl.DataFrame:
    """Choose between recorded and counted lengths; with blocks, prompts are as long as their blocks say."""
    inputs = ("counted_input", "input_tokens") if has_blocks else ("input_tokens", "counted_input")
    known = found.with_columns(
        pl.coalesce(*inputs).alias("input_tokens"), pl.coalesce("output_tokens", "counted_output")
    ).with_columns(pl.any_horizontal("is_failed", pl.col("input_tokens", "output_tokens").is_null()).alias("is_failed"))
    kept = [name for name in OPTIONAL if known[name].null_count() < known.height]
    blocks = pl.when(~pl.col("is_failed")).then("block_ids").fill_null(pl.Series([[]], dtype=BLOCKS))
    return known.select(
        "line",
        "stamp_ns",
        pl.when(~pl.col("is_failed")).then("input_tokens").otherwise(0).alias("input_tokens"),
        pl.when(~pl.col("is_failed")).then("output_tokens").otherwise(0).alias("output_tokens"),
        "is_failed",
        *kept,
        *([blocks.alias("block_ids")] if has_blocks else []),
    )


def _length_notes(found: pl.DataFrame, rows: pl.DataFrame, *, has_blocks: bool) -> tuple[str, ...]:
    num_failed = int(found["is_failed"].sum())
    num_unknown = int(rows["is_failed"].sum()) - num_failed
    notes = (
        f"{num_failed} requests failed at the source" if num_failed else "",
        f"{num_unknown} requests have no token counts; they stand as failed, their lengths being unknown"
        if num_unknown
        else "",
        _text_note(found, has_blocks=has_blocks),
        _cache_note(found),
    )
    return tuple(note for note in notes if note)


def _text_note(found: pl.DataFrame, *, has_blocks: bool) -> str:
    if found["counted_input"].null_count() == found.height:
        return ""
    both = found.drop_nulls(["counted_input", "input_tokens"])
    what = f"prompt lengths and blocks of {BLOCK_TOKENS} tokens" if has_blocks else "lengths that the log lacks"
    note = f"{what} were counted from texts, without the tokens of a chat template"
    counted = int(both["counted_input"].sum())
    return (
        note if not counted else f"{note}; the log's own are {int(both['input_tokens'].sum()) / counted:.3f} times that"
    )


def _cache_note(found: pl.DataFrame) -> str:
    told = found.drop_nulls(["cached_tokens", "input_tokens"])
    total = int(told["input_tokens"].sum())
    if not total:
        return ""
    ratio = int(told["cached_tokens"].sum()) / total
    return f"by the log itself, {ratio:.1%} of the input tokens of {told.height} requests came from a prefix cache"
