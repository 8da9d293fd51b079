"""Rows as Arrow tables and back: the columns of a file of records, and the facts of a log in its footer."""

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.records import ClientPath, ReplayLog, RequestRecord, Window, WorkerReport
from orchestrator.replay.record_rows import ARRAY_NAMES, INT_BYTES, NAMES, TEXT_NAMES, Row

FORMAT = "seatrial.records/1"
META_KEY = b"seatrial"
ORDER_KEY = b"seatrial.order"
BY_END = b"by end"  # row groups follow each other as their requests ended, not as they were intended

_load = TypeAdapter[OfferedLoad](OfferedLoad)


def _arrow_type(name: str) -> pa.DataType:
    if name in TEXT_NAMES:
        return pa.string()
    return pa.list_(pa.int64()) if name in ARRAY_NAMES else pa.int64()


SCHEMA = pa.schema([(name, _arrow_type(name)) for name in NAMES])


def to_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table of the file's schema."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(NAMES)
    arrays = [
        _lists(column) if name in ARRAY_NAMES else pa.array(column, _arrow_type(name))
        for name, column in zip(NAMES, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _lists(column: Sequence[bytes | None]) -> pa.ListArray:
    present = [values or b"" for values in column]
    offsets = np.zeros(len(present) + 1, dtype=np.int32)
    np.cumsum([len(values) // INT_BYTES for values in present], out=offsets[1:])
    flat = np.frombuffer(b"".join(present), dtype=np.int64)
    absent = pa.array([values is None for values in column], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat), mask=absent)


def to_rows(table: pa.Table) -> Iterator[Row]:
    """Yield the rows of a table."""
    columns = [_bytes(table[name]) if name in ARRAY_NAMES else table[name].to_pylist() for name in NAMES]
    return zip(*columns, strict=True)


def _bytes(column: pa.ChunkedArray) -> list[bytes | None]:
    lists = column.combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    flat = lists.values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    offsets = lists.offsets.to_pylist()
    present = lists.is_valid().to_pylist()
    return [
        flat[start:end].tobytes() if is_there else None
        for start, end, is_there in zip(offsets[:-1], offsets[1:], present, strict=True)
    ]


def spell_meta(log: ReplayLog) -> bytes:
    """Return the facts of a log, its records apart, as they stand in the footer.

    Raises:
        ValueError: a figure is not finite.
    """
    meta = {
        "format": FORMAT,
        "load": log.load.model_dump(mode="json"),
        "window": asdict(log.window),
        "loop_lag_ns": log.loop_lag_ns.tolist(),
        "started_ns": log.started_ns,
        "drained_ns": log.drained_ns,
        "client_cpu_ratio": log.client_cpu_ratio,
        "notes": dict(log.notes),
        "path": log.path,
        "workers": [asdict(one) for one in log.workers],
        "early_stop": log.early_stop,
        "backlog_s": log.backlog_s,
    }
    return json.dumps(meta, allow_nan=False).encode()


def read_meta(text: bytes, records: Sequence[RequestRecord]) -> ReplayLog:
    """Return the log of a footer and its records.

    Raises:
        ValueError, KeyError, TypeError: the footer is another's.
    """
    meta: dict[str, Any] = json.loads(text)
    if meta.pop("format", None) != FORMAT:
        raise ValueError(f"no records of format {FORMAT}; written by another version")
    return ReplayLog(
        load=_load.validate_python(meta.pop("load")),
        records=records,
        window=Window(**meta.pop("window")),
        path=ClientPath(meta.pop("path", ClientPath.DIRECT)),
        workers=tuple(WorkerReport(**one) for one in meta.pop("workers", ())),
        loop_lag_ns=array("q", meta.pop("loop_lag_ns")),
        **meta,
    )
