"""Telemetry as Parquet: one row a sample (name, unit, time_ns, value), nothing lost on the way back."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.domain.errors import InputError
from orchestrator.domain.telemetry import Series, Telemetry

META_KEY = b"seatrial.telemetry"
SCHEMA_NAME = "seatrial.telemetry/1"


def write_telemetry(telemetry: Telemetry, path: Path) -> None:
    """Write telemetry as Parquet; the file is there whole or not at all."""
    counts = [one.times_ns.size for one in telemetry.series]
    columns = {
        "name": _repeated([one.name for one in telemetry.series], counts),
        "unit": _repeated([one.unit for one in telemetry.series], counts),
        "time_ns": pa.array(_joined([one.times_ns for one in telemetry.series], np.int64)),
        "value": pa.array(_joined([one.values for one in telemetry.series], np.float64)),
    }
    meta = {
        "schema": SCHEMA_NAME,
        "interval_s": telemetry.interval_s,
        "notes": telemetry.notes,
        "series": [[one.name, one.unit, one.times_ns.size] for one in telemetry.series],
    }
    table = pa.table(columns).replace_schema_metadata({META_KEY: json.dumps(meta)})
    draft = path.with_name(path.name + ".part")
    pq.write_table(table, draft, compression="zstd")
    draft.replace(path)


def read_telemetry(path: Path) -> Telemetry:
    """Read telemetry that `write_telemetry` wrote.

    Raises:
        InputError: the file is something else.
    """
    table = pq.read_table(path)
    stored = (table.schema.metadata or {}).get(META_KEY)
    if stored is None:
        raise InputError(f"{path}: expected telemetry as seatrial writes it, seen a Parquet file without its mark")
    meta = json.loads(stored)
    return Telemetry(tuple(_series(table, meta["series"])), meta["interval_s"], tuple(meta["notes"]))


def _series(table: pa.Table, listed: list[tuple[str, str, int]]) -> Iterator[Series]:
    times_ns = table.column("time_ns").to_numpy()
    values = table.column("value").to_numpy()
    begin = 0
    for name, unit, count in listed:
        yield Series(name, unit, times_ns[begin : begin + count], values[begin : begin + count])
        begin += count


def _repeated(words: list[str], counts: list[int]) -> pa.Array:
    indices = np.repeat(np.arange(len(words), dtype=np.int32), counts)
    return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(words, pa.string()))


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts])
