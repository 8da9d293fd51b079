"""Our own shareable trace: a Parquet file with the columns of a trace, no text, no identity and no absolute time.

Identities and prompt blocks are hashed anew with a salt of the export's own, so two exports cannot be joined. What it
says of its origin is its format; not its file, and nothing that a note quotes.
"""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.identity import Kind, hash_identities
from workloads.trace import Trace, TraceError, TraceFacts

NAME = "seatrial"
VERSION = 1
METADATA_KEY = b"seatrial_trace"
MIN_SALT_BYTES = 16
QUOTED = re.compile(r"""(?<!\w)(['"])(?:\\.|(?!\1).)*\1""")
REQUIRED = {
    "arrival_ns": pl.Int64,
    "input_tokens": pl.Int32,
    "output_tokens": pl.Int32,
    "is_failed": pl.Boolean,
}
OPTIONAL = {
    "block_ids": pl.List(pl.Int64),
    "session_id": pl.UInt64,
    "client_id": pl.UInt64,
    "ttft_ns": pl.Int64,
    "service_ns": pl.Int64,
    "model": pl.String,
}
IDENTITIES: tuple[tuple[str, Kind], ...] = (("session_id", "session"), ("client_id", "client"))


def write_anonymous(trace: Trace, path: Path, *, salt: bytes) -> None:
    """Write a trace that may be shared; the salt is to be random and thrown away.

    Raises:
        TraceError: the salt is too short to keep anybody from trying names out.
    """
    if len(salt) < MIN_SALT_BYTES:
        raise TraceError(
            f"a salt of {len(salt)} bytes", advice=f"Give at least {MIN_SALT_BYTES} random bytes, and keep them nowhere"
        )
    rows = trace.rows
    kept = rows.select([name for name in (*REQUIRED, *OPTIONAL) if name in rows.columns])
    hashed = kept.with_columns(
        hash_identities(kept[name], kind, salt=salt) for name, kind in IDENTITIES if name in kept.columns
    )
    if "block_ids" in hashed.columns:
        hashed = hashed.with_columns(_blocks(hashed["block_ids"], salt))
    table = hashed.with_columns(pl.col("arrival_ns") - pl.col("arrival_ns").first()).to_arrow(
        compat_level=pl.CompatLevel.oldest()
    )
    metadata = {METADATA_KEY: json.dumps(_facts(trace.facts)).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path, compression="zstd")


def _blocks(lists: pl.Series, salt: bytes) -> pl.Series:
    """Hash block ids to 63 bits; equal prefixes stay equal."""
    flat = lists.explode(empty_as_null=False)
    hashed = (hash_identities(flat, "block", salt=salt).to_numpy() >> np.uint64(1)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lists.list.len().to_numpy())])
    array = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(hashed))
    return pl.Series(lists.name, pl.from_arrow(array), dtype=pl.List(pl.Int64))


def _facts(facts: TraceFacts) -> dict[str, object]:
    return {
        "version": VERSION,
        "format": facts.format,
        "resolution_ns": facts.resolution_ns,
        "grid_ns": facts.grid_ns,
        "block_tokens": facts.block_tokens,
        "dropped": dict(facts.dropped),
        "notes": [QUOTED.sub("(left out)", note.replace(facts.source, "(left out)")) for note in facts.notes],
    }


def _recognises(sample: Sample) -> bool:
    return sample.kind == "parquet" and METADATA_KEY in (pq.read_schema(sample.path).metadata or {})


def _read(sample: Sample, _options: ReadOptions) -> Trace:
    """Read a shared trace; it says itself which format it came from.

    Raises:
        TraceError: a later version of Seatrial wrote it, or it was changed since.
    """
    rows = pl.read_parquet(sample.path)
    _check(rows, sample.path)
    return Trace(rows, _read_facts(sample.path))


def _read_facts(path: Path) -> TraceFacts:
    facts = json.loads(pq.read_schema(path).metadata[METADATA_KEY])
    if facts.get("version") != VERSION:
        raise TraceError(f"written in version {facts.get('version')}", path=path, advice=f"This one reads {VERSION}")
    try:
        return TraceFacts(
            format=facts["format"],
            source=path.name,
            resolution_ns=facts["resolution_ns"],
            grid_ns=facts["grid_ns"],
            block_tokens=facts["block_tokens"],
            dropped=facts["dropped"],
            notes=tuple(facts["notes"]),
        )
    except KeyError as error:
        raise TraceError(f"its metadata lacks {error}", path=path, advice="Export it anew") from error


def _check(rows: pl.DataFrame, path: Path) -> None:
    wrong = [name for name, dtype in REQUIRED.items() if rows.schema.get(name) != dtype]
    wrong += [name for name, dtype in rows.schema.items() if name not in REQUIRED and OPTIONAL.get(name) != dtype]
    if wrong:
        raise TraceError(f"columns {wrong} are not those of a shared trace", path=path, advice="Export it anew")
    is_sound = (
        rows.height > 0
        and rows.select(pl.col(*REQUIRED).is_null().any()).row(0) == (False,) * len(REQUIRED)
        and rows["arrival_ns"][0] == 0
        and rows["arrival_ns"].is_sorted()
        and rows.select(pl.min_horizontal(pl.col("input_tokens", "output_tokens").min())).item() >= 0
    )
    if not is_sound:
        raise TraceError(
            "its rows are not in order of arrival from 0, or a value is missing", path=path, advice="Export it anew"
        )


FORMAT = Format(NAME, "Parquet that seatrial profile --anonymise wrote", _recognises, _read)
