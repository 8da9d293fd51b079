"""sha256 of weights. A file whose size and modification time are unchanged need not be read again."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from orchestrator.models.memory import recall, remember

MEMORY = "sha256.json"


class FileFact(BaseModel):
    """What identifies a file's content, and what tells cheaply that it may have changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size_bytes: int
    mtime_ns: int
    sha256: str

    def is_fresh(self, path: Path) -> bool:
        """Say whether size and modification time are still those."""
        stat = path.stat()
        return (self.size_bytes, self.mtime_ns) == (stat.st_size, stat.st_mtime_ns)


def sha256_of(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fact_of(path: Path) -> FileFact:
    """Read what identifies a file."""
    stat = path.stat()
    return FileFact(size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns, sha256=sha256_of(path))


def combined(hashes: Mapping[str, str]) -> str:
    """Hash several files to one digest: a single file's own, else that of sorted `hash  name` lines."""
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    lines = "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(hashes.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def remembered_sha256(path: Path, *, folder: Path) -> str:
    """Hash a file, or recall its hash from the memory kept in `folder` where size and time are unchanged."""
    key = str(path.resolve())
    known = recall(folder / MEMORY).get(key)
    if known is not None:
        fact = FileFact.model_validate(known)
        if fact.is_fresh(path):
            return fact.sha256
    fact = fact_of(path)
    remember(folder / MEMORY, key, fact.model_dump())
    return fact.sha256
