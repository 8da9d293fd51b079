"""Writes records to a file while a replay runs: rows are gathered, a thread puts them to disk a row group at a time.

The sending processes never wait for it. What waits for the disk is bounded, and how long it waited is said.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.records import ReplayLog
from orchestrator.replay.record_file import RecordFile
from orchestrator.replay.record_rows import TEXT_NAMES, Row, in_order
from orchestrator.replay.record_table import BY_END, META_KEY, ORDER_KEY, SCHEMA, spell_meta, to_table

GROUP_ROWS = 8192
GROUP_AGE_NS = 2 * NS_PER_S
WAITING_MAX_BYTES = 256 * 2**20


class RecordWriter:
    """One file in the making; it has its name only once it is whole. `sync` puts what was written on the disk."""

    def __init__(
        self, path: Path, *, sync: Callable[[int], None] = os.fdatasync, now: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}.{os.getpid()}")
        self._file: BinaryIO = self._partial.open("wb")
        self._writer = pq.ParquetWriter(
            self._file, SCHEMA, compression="zstd", use_dictionary=sorted(TEXT_NAMES), write_statistics=["intended_ns"]
        )
        self._sync = sync
        self._now = now
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="records")
        self._writes: list[Future[None]] = []
        self._rows: list[Row] = []
        self._since_ns = 0
        self._handed_bytes = 0
        self._written_bytes = 0
        self._backlog_ns = 0

    def add(self, row: Row) -> None:
        """Take a row; writes nothing itself."""
        if not self._rows:
            self._since_ns = self._now()
        self._rows.append(row)

    def turn(self) -> None:
        """Hand a full or old row group to the disk; to be called many times a second.

        Raises:
            MeasurementRefusedError: more waits than memory is set aside for.
            OSError: the disk refused what was handed to it before.
        """
        self._raise_failed()
        if self._rows and (len(self._rows) >= GROUP_ROWS or self._now() - self._since_ns >= GROUP_AGE_NS):
            self._hand_over()
        waiting_bytes = self._handed_bytes - self._written_bytes
        if waiting_bytes > WAITING_MAX_BYTES:
            raise MeasurementRefusedError(
                f"{self._path}: {waiting_bytes // 2**20} MiB of records wait for the disk, which does not keep up; "
                "write them to a faster one"
            )

    def finish(self, log: ReplayLog) -> ReplayLog:
        """Write what is left and the log's facts, give the file its name, and return the log with the file's records.

        Raises:
            OSError: the disk is full or refuses.
        """
        if self._rows:
            self._hand_over()
        self._thread.shutdown(wait=True)
        self._raise_failed()
        log = replace(log, backlog_s=self._backlog_ns / NS_PER_S)
        self._writer.add_key_value_metadata({META_KEY: spell_meta(log), ORDER_KEY: BY_END})
        self._writer.close()
        self._sync(self._file.fileno())
        self._file.close()
        self._partial.replace(self._path)
        return replace(log, records=RecordFile(self._path))

    def close(self) -> None:
        """Let go of everything; a file that was not finished is removed."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._writer.is_open:
            self._writer.close()
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _hand_over(self) -> None:
        rows, self._rows = self._rows, []
        rows.sort(key=in_order)
        table = to_table(rows)
        self._handed_bytes += table.nbytes
        self._writes.append(self._thread.submit(self._write, table, self._since_ns))

    def _write(self, table: pa.Table, since_ns: int) -> None:
        self._writer.write_table(table)
        self._file.flush()
        self._sync(self._file.fileno())
        self._backlog_ns = max(self._backlog_ns, self._now() - since_ns)
        self._written_bytes += table.nbytes

    def _raise_failed(self) -> None:
        while self._writes and self._writes[0].done():
            self._writes.pop(0).result()
