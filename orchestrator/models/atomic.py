"""Files and folders that appear whole or not at all, however the writer ends."""

import os
import shutil
from pathlib import Path

PART = ".part-"


def part_of(target: Path) -> Path:
    """Name the place beside `target` where it is written first."""
    return target.with_name(f"{PART}{target.name}")


def remove(path: Path) -> None:
    """Remove a file or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def publish(part: Path, target: Path) -> None:
    """Move what was written to its place, on disk before it is seen; an old folder is removed just before."""
    for path in [part, *part.rglob("*")] if part.is_dir() else [part]:
        _sync(path)
    if target.is_dir():
        shutil.rmtree(target)
    part.replace(target)
    _sync(target.parent)


def write_text(target: Path, text: str) -> None:
    """Replace a file's text atomically."""
    part = part_of(target)
    part.write_text(text, encoding="utf-8")
    publish(part, target)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
