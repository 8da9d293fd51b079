"""What a trace format is: a name, a way to tell it from a file's beginning, and a reader."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from workloads.readers.units import TimeUnit
from workloads.trace import Trace

CountTokens = Callable[[Sequence[str]], list[int]]
Progress = Callable[[int, int], None]
MAX_BAD_RATIO = 1e-5


class Sample(NamedTuple):
    """The beginning of a file, unpacked.

    `kind` is how the file is laid out: `document` is one JSON value over many lines. `names` are its columns, or the
    keys of its first row; empty for a document. `head` is its first text, at most 64 Ki characters, empty for
    Parquet. `row` is the first row of JSON lines.
    """

    path: Path
    kind: Literal["csv", "json_lines", "document", "parquet"]
    names: tuple[str, ...]
    head: str
    row: object = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a person wants a file read; the defaults ask about what is in doubt and keep no text.

    `mapping` gives our column names (`column_names.USUAL`) theirs. `zone` is the time zone of times without one.
    `max_bad_ratio` is the share of rows that may be unreadable. `salt` goes into every hash of a block or an identity.
    `count_tokens` counts texts where the file has no token counts. `progress` is told bytes read and bytes in all.
    """

    unit: TimeUnit | None = None
    zone: str | None = None
    mapping: dict[str, str] = field(default_factory=dict)
    max_bad_ratio: float = MAX_BAD_RATIO
    keep_text: bool = False
    salt: bytes = b""
    count_tokens: CountTokens | None = None
    progress: Progress | None = None


class Format(NamedTuple):
    """One format; `looks_like` says in words how it is told."""

    name: str
    looks_like: str
    recognises: Callable[[Sample], bool]
    read: Callable[[Sample, ReadOptions], Trace]
