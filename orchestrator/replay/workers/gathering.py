"""Where records go while they come: into memory, or through a writer to disk."""

from dataclasses import replace
from typing import Protocol

from orchestrator.domain.records import ReplayLog
from orchestrator.replay.record_rows import Row, in_order, to_record


class Gatherer(Protocol):
    """Takes rows in any order and gives the log its records, in order of intended arrival."""

    def add(self, row: Row) -> None:
        """Take a row."""
        ...

    def turn(self) -> None:
        """Do what is due; called many times a second, and may not block."""
        ...

    def finish(self, log: ReplayLog) -> ReplayLog:
        """Return the log with its records."""
        ...

    def close(self) -> None:
        """Let go of everything, finished or not."""
        ...


class InMemory:
    """Keeps every record until the end."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Take a row."""
        self._rows.append(row)

    def turn(self) -> None:
        """Do nothing: nothing is ever due."""

    def finish(self, log: ReplayLog) -> ReplayLog:
        """Return the log with its records."""
        return replace(log, records=tuple(map(to_record, sorted(self._rows, key=in_order))))

    def close(self) -> None:
        """Let go of the rows."""
        self._rows = []
