"""Replay logs as Parquet: one row a request, the log's own facts in the file's metadata. Loses nothing."""

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.domain.errors import InputError
from orchestrator.domain.records import ReplayLog
from orchestrator.replay.record_file import RecordFile
from orchestrator.replay.record_rows import to_row
from orchestrator.replay.record_table import FORMAT, META_KEY, SCHEMA, read_meta, spell_meta, to_table

GROUP_ROWS = 65_536


def write_records(log: ReplayLog, path: Path) -> None:
    """Write a log; the file appears whole or not at all. A log whose records already lie there is left as it is.

    Raises:
        OSError: the folder cannot be written to or the disk is full.
    """
    if isinstance(log.records, RecordFile) and log.records.path == path:
        return
    schema = SCHEMA.with_metadata({META_KEY: spell_meta(log)})
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    rows = map(to_row, log.records)
    try:
        with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            while group := list(islice(rows, GROUP_ROWS)):
                writer.write_table(to_table(group))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_records(path: Path) -> ReplayLog:
    """Read what `write_records` or a streaming replay wrote, whole.

    Raises:
        InputError: the file is absent, damaged or of another kind.
    """
    log = open_records(path)
    try:
        return replace(log, records=tuple(log.records))
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise _refusal(path, error) from error


def open_records(path: Path) -> ReplayLog:
    """Return a log whose records stay in the file and are read when they are asked for, a row group at a time.

    Raises:
        InputError: the file is absent, damaged or of another kind.
    """
    try:
        records = RecordFile(path)
        return read_meta(records.footer[META_KEY], records)
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise _refusal(path, error) from error


def _refusal(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: expected request records in Parquet ({FORMAT}), seen {error!r}")
