"""sha256 of weights. A file whose size and modification time are unchanged need not be read again."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ConfigDict

from orchestrator.models.atomic import write_text

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
    memory = folder / MEMORY
    known = _recall(memory).get(key)
    if known is not None and known.is_fresh(path):
        return known.sha256
    fact = fact_of(path)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{MEMORY}.lock"):
        facts = {**_recall(memory), key: fact}
        write_text(memory, json.dumps({name: one.model_dump() for name, one in facts.items()}, indent=1))
    return fact.sha256


def _recall(memory: Path) -> dict[str, FileFact]:
    try:
        text = memory.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {name: FileFact.model_validate(one) for name, one in json.loads(text).items()}
