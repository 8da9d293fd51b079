"""Replay logs as Parquet: one row a request, the log's own facts in the file's metadata. Loses nothing."""

import json
import os
from array import array
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from orchestrator.domain.errors import InputError
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord, Window

FORMAT = "seatrial.records/1"
META_KEY = b"seatrial"
ARRAY_FIELDS = ("chunk_ns", "chunk_tokens")
TEXT_FIELDS = ("finish_reason", "failure", "failure_detail")

_load = TypeAdapter[OfferedLoad](OfferedLoad)


def _arrow_type(name: str) -> pa.DataType:
    if name in TEXT_FIELDS:
        return pa.string()
    return pa.list_(pa.int64()) if name in ARRAY_FIELDS else pa.int64()


SCHEMA = pa.schema([(field.name, _arrow_type(field.name)) for field in fields(RequestRecord)])


def write_records(log: ReplayLog, path: Path) -> None:
    """Write a log; the file appears whole or not at all.

    Raises:
        OSError: the folder cannot be written to or the disk is full.
    """
    rows = [{name: getattr(record, name) for name in SCHEMA.names} for record in log.records]
    table = pa.Table.from_pylist(rows, schema=SCHEMA).replace_schema_metadata({META_KEY: _spell_meta(log)})
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table, partial, compression="zstd")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_records(path: Path) -> ReplayLog:
    """Read what `write_records` wrote.

    Raises:
        InputError: the file is absent, damaged or of another kind.
    """
    try:
        table = pq.read_table(path)
        meta = json.loads((table.schema.metadata or {})[META_KEY])
    except (OSError, pa.ArrowInvalid, KeyError, ValueError) as error:
        raise InputError(f"{path}: expected request records in Parquet ({FORMAT}), seen {error!r}") from error
    if meta.pop("format", None) != FORMAT:
        raise InputError(f"{path}: expected request records of format {FORMAT}; written by another version")
    return ReplayLog(
        load=_load.validate_python(meta.pop("load")),
        records=tuple(_read_record(row) for row in table.to_pylist()),
        window=Window(**meta.pop("window")),
        loop_lag_ns=array("q", meta.pop("loop_lag_ns")),
        **meta,
    )


def _spell_meta(log: ReplayLog) -> bytes:
    meta = {
        "format": FORMAT,
        "load": log.load.model_dump(mode="json"),
        "window": asdict(log.window),
        "loop_lag_ns": log.loop_lag_ns.tolist(),
        "started_ns": log.started_ns,
        "drained_ns": log.drained_ns,
        "client_cpu_ratio": log.client_cpu_ratio,
        "notes": dict(log.notes),
    }
    return json.dumps(meta, allow_nan=False).encode()


def _read_record(row: dict[str, Any]) -> RequestRecord:
    failure = row.pop("failure")
    arrays: dict[str, Any] = {name: row.pop(name) for name in ARRAY_FIELDS}
    arrays = {name: None if values is None else array("q", values) for name, values in arrays.items()}
    return RequestRecord(failure=None if failure is None else RequestFailure(failure), **arrays, **row)
