"""Text that prompts are cut from: English that every Python carries, or a person's own file."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data.topics import topics

from workloads.digest import DIGEST_CHARS
from workloads.errors import WorkloadError

MAX_CHARACTERS = 1 << 22


class CorpusError(WorkloadError):
    """A corpus file cannot be used: which file, why, what to do."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Text and where it comes from. `digest` tells corpora apart: Python's own text changes with its version."""

    source: str
    text: str = field(repr=False)

    @property
    def digest(self) -> str:
        """Digest the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:DIGEST_CHARS]


def english_corpus() -> Corpus:
    """Return the language reference that comes with Python, about half a million characters."""
    return Corpus("pydoc_data.topics", "\n".join(topics[name] for name in sorted(topics)))


def file_corpus(path: Path) -> Corpus:
    """Read a UTF-8 text file, its first 4 Mi characters.

    Raises:
        CorpusError: the file cannot be read, is no UTF-8 text, or is empty.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_CHARACTERS)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}; check path and permissions") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: no UTF-8 text at byte {error.start}; convert it first") from error
    if not text.strip():
        raise CorpusError(f"{path}: empty; give a file with text")
    return Corpus(path.name, text)
