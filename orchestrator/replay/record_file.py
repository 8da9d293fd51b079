"""Records that lie in a file and are read a row group at a time, in order of intended arrival.

Keeps a few row groups in memory, however long the file; writes nothing.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import overload

import numpy as np
import pyarrow.parquet as pq

from orchestrator.domain.records import RequestRecord
from orchestrator.replay.record_rows import Row, in_order, to_record
from orchestrator.replay.record_table import BY_END, ORDER_KEY, to_rows


class RecordFile(Sequence[RequestRecord]):
    """The records of one file of `write_records` or of a replay that wrote while it ran."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with pq.ParquetFile(path) as file:
            self.footer: dict[bytes, bytes] = dict(file.metadata.metadata or {})
            self._names = file.schema_arrow.names
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
        self._ends = list(accumulate(group.num_rows for group in groups))
        self._is_merged = self.footer.get(ORDER_KEY) == BY_END
        self._first_ns = [self._earliest(group) for group in groups] if self._is_merged else []
        self._places: list[int] | None = None
        self._read: tuple[int, list[Row]] = (-1, [])

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[RequestRecord]:
        return map(to_record, self._merged() if self._is_merged else self._as_they_lie())

    @overload
    def __getitem__(self, place: int) -> RequestRecord: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[RequestRecord, ...]: ...

    def __getitem__(self, place: int | slice) -> RequestRecord | tuple[RequestRecord, ...]:
        places = self._order()
        if isinstance(place, slice):
            return tuple(to_record(self._row(at)) for at in places[place])
        return to_record(self._row(places[place]))

    def _as_they_lie(self) -> Iterator[Row]:
        with pq.ParquetFile(self.path) as file:
            for group in range(file.metadata.num_row_groups):
                yield from to_rows(file.read_row_group(group))

    def _merged(self) -> Iterator[Row]:
        """Yield rows by intended arrival; a group is read when the first of it may be next, and dropped at its end."""
        heap: list[tuple[tuple[int, int], int, Row, Iterator[Row]]] = []
        waiting = sorted(range(len(self._first_ns)), key=self._first_ns.__getitem__, reverse=True)
        with pq.ParquetFile(self.path) as file:
            while heap or waiting:
                while waiting and (not heap or self._first_ns[waiting[-1]] <= heap[0][0][0]):
                    group = waiting.pop()
                    _push(heap, group, to_rows(file.read_row_group(group)))
                _, group, row, rest = heapq.heappop(heap)
                yield row
                _push(heap, group, rest)

    def _order(self) -> list[int]:
        """Return for each place the row's number in the file."""
        if self._places is None:
            if self._is_merged:
                table = pq.read_table(self.path, columns=["intended_ns", "index"])
                keys = [table[name].to_numpy() for name in ("index", "intended_ns")]
                self._places = np.lexsort(keys).tolist()
            else:
                self._places = list(range(len(self)))
        return self._places

    def _row(self, number: int) -> Row:
        group = bisect_right(self._ends, number)
        if self._read[0] != group:
            with pq.ParquetFile(self.path) as file:
                self._read = (group, list(to_rows(file.read_row_group(group))))
        return self._read[1][number - (self._ends[group - 1] if group else 0)]

    def _earliest(self, group: pq.RowGroupMetaData) -> int:
        statistics = group.column(self._names.index("intended_ns")).statistics
        if statistics is None or not statistics.has_min_max:
            raise ValueError("a row group without the earliest of its times")
        return int(statistics.min)


def _push(heap: list[tuple[tuple[int, int], int, Row, Iterator[Row]]], group: int, rows: Iterator[Row]) -> None:
    row = next(rows, None)
    if row is not None:
        heapq.heappush(heap, (in_order(row), group, row, rows))
