"""An append-only log of lines in a store: one file where the store is local, one object a line elsewhere.

Knows nothing of what the lines mean; a line holds no newline.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from orchestrator.tracking.store import Store

_DIGITS = 9


class Lines(NamedTuple):
    """What a log holds: its whole lines, and the bytes after the last newline where a kill tore a line."""

    whole: tuple[bytes, ...]
    torn: bytes | None = None


class AppendLog(Protocol):
    """Lines in the order in which they were appended."""

    def append(self, line: bytes) -> None:
        """Add a line; on return it has reached the disk or the service."""
        ...

    def read(self) -> Lines:
        """Read what is there, changing nothing."""
        ...

    def cut(self) -> None:
        """Remove a torn last line."""
        ...

    def clear(self) -> None:
        """Remove all lines."""
        ...


def open_log(store: Store, key: str) -> AppendLog:
    """Open the log of a key: the file `key.jsonl` in a local store, objects below `key/` elsewhere."""
    return _FileLog(store.root / f"{key}.jsonl") if store.root is not None else _ObjectLog(store, key)


@dataclass(frozen=True, slots=True)
class _FileLog:
    path: Path

    def append(self, line: bytes) -> None:
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        before_bytes = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, line + b"\n")
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, before_bytes)  # half a line would swallow the next one
            raise
        finally:
            os.close(descriptor)
        if is_new:
            _sync_folder(self.path.parent)

    def read(self) -> Lines:
        data = self.path.read_bytes() if self.path.exists() else b""
        whole, newline, rest = data.rpartition(b"\n")
        return Lines(tuple(whole.split(b"\n")) if newline else (), rest or None)

    def cut(self) -> None:
        torn = self.read().torn
        if torn is None:
            return
        with self.path.open("rb+") as file:
            file.truncate(self.path.stat().st_size - len(torn))
            file.flush()
            os.fsync(file.fileno())

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass(slots=True)
class _ObjectLog:
    store: Store
    key: str
    count: int | None = field(default=None)

    def append(self, line: bytes) -> None:
        if self.count is None:
            names = self.store.list(self.key)
            self.count = int(Path(names[-1]).stem) + 1 if names else 0
        self.store.create(f"{self.key}/{self.count:0{_DIGITS}d}.json", line)
        self.count += 1

    def read(self) -> Lines:
        return Lines(tuple(self.store.get(name) for name in self.store.list(self.key)))

    def cut(self) -> None:
        """Do nothing: an object is never torn."""

    def clear(self) -> None:
        for name in self.store.list(self.key):
            self.store.delete(name)
        self.count = None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
