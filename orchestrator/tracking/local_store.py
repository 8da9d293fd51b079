"""A store in a local folder: whole files through a rename, exclusive files through a hard link."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from orchestrator.domain.errors import TrackingError


@dataclass(frozen=True, slots=True)
class LocalStore:
    """Files below `root`; `url` is how the person named it."""

    url: str
    root: Path

    @classmethod
    def open(cls, root: Path, *, min_free_bytes: int) -> "LocalStore":
        """Make the folder where it is missing and check that the disk has room.

        Raises:
            TrackingError: the folder cannot be made, or less than `min_free_bytes` are free.
        """
        try:
            root.mkdir(parents=True, exist_ok=True)
            free_bytes = shutil.disk_usage(root).free
        except OSError as error:
            raise TrackingError(f"store {root} cannot be written: {error}; give another with --store") from error
        if free_bytes < min_free_bytes:
            raise TrackingError(
                f"store {root}: the disk has {free_bytes / 2**20:.0f} MiB free, at least "
                f"{min_free_bytes / 2**20:.0f} MiB are needed; make room or give another with --store"
            )
        return cls(str(root), root.resolve())

    def put(self, key: str, data: bytes) -> None:
        """Write a value, replacing what was there."""
        draft = self._draft(key, data)
        draft.replace(self.root / key)

    def create(self, key: str, data: bytes) -> None:
        """Write a value that must not exist yet, whole at once.

        Raises:
            FileExistsError: somebody wrote it before.
        """
        draft = self._draft(key, data)
        try:
            os.link(draft, self.root / key)
        finally:
            draft.unlink()

    def get(self, key: str) -> bytes:
        """Read a value.

        Raises:
            FileNotFoundError: there is none.
        """
        return (self.root / key).read_bytes()

    def delete(self, key: str) -> None:
        """Remove a value; one that is not there is no error."""
        (self.root / key).unlink(missing_ok=True)

    def list(self, prefix: str) -> tuple[str, ...]:
        """List all keys below a folder, sorted; drafts that a kill left are no keys."""
        files = (
            path for path in (self.root / prefix).rglob("*") if path.is_file() and not path.name.endswith(".draft")
        )
        return tuple(sorted(path.relative_to(self.root).as_posix() for path in files))

    def put_tree(self, folder: Path, prefix: str) -> tuple[str, ...]:
        """Copy every file of a local folder below a key and return the keys; files that lie there already stay."""
        target = self.root / prefix
        if folder.is_dir() and folder.resolve() != target:
            shutil.copytree(folder, target, dirs_exist_ok=True)
        return self.list(prefix)

    def uri(self, key: str) -> str:
        """Spell a key as a file URI."""
        return (self.root / key).as_uri()

    def _draft(self, key: str, data: bytes) -> Path:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{uuid4().hex}.draft")
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        return draft
