"""Rows of a JSON log, one at a time: one object a line, or the items of one array. Rows that are none are tallied."""

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloads.readers.faults import allowed_faults
from workloads.readers.format import Progress, ReadOptions, Sample
from workloads.readers.media import MEDIA, MENTIONS_MEDIA, refuse_media_row
from workloads.readers.unpacking import open_raw, open_unpacked
from workloads.trace import TraceError

Row = dict[str, Any]
CHUNK_CHARS = 1 << 20
PROGRESS_LINES = 1 << 12
MAX_ITEM_CHARS = 1 << 28
MENTIONS_MEDIA_TEXT = re.compile(rf'"{MEDIA}"')


@dataclass(slots=True)
class Tally:
    """What became of the rows of one file: how many there are, unreadable ones, and those left out by reason."""

    path: Path
    max_bad_ratio: float
    num_rows: int = 0
    num_bad: int = 0
    first_bad: tuple[int, str] = (0, "")
    dropped: Counter[str] = field(default_factory=Counter)

    def add_bad(self, line: int, reason: str) -> None:
        """Count a row that cannot be read."""
        self.first_bad = self.first_bad if self.num_bad else (line, reason)
        self.num_bad += 1

    def settle(self) -> tuple[dict[str, int], tuple[str, ...]]:
        """Return what was dropped, by reason, and notes on it.

        Raises:
            TraceError: more rows than tolerated cannot be read; names the first.
        """
        line, reason = self.first_bad
        if self.num_bad > allowed_faults(self.num_rows, self.max_bad_ratio):
            more = f"; {self.num_bad} of {self.num_rows} rows are unreadable" if self.num_bad > 1 else ""
            raise TraceError(
                f"{reason}{more}",
                path=self.path,
                row=line,
                advice=f"Correct or remove such rows; up to {self.max_bad_ratio:g} of all rows are tolerated",
            )
        if not self.num_bad:
            return dict(self.dropped), ()
        note = f"{self.num_bad} of {self.num_rows} rows cannot be read and were left out, the first in line {line}"
        return {**self.dropped, "unreadable": self.num_bad}, (note,)


def read_rows(sample: Sample, options: ReadOptions, tally: Tally) -> Iterator[tuple[int, Row]]:
    """Yield each object of a file with its line, rows that are no object being tallied.

    Raises:
        TraceError: an array breaks off, or a row holds more than text.
    """
    is_array = sample.kind == "document"
    found = _array_items(sample.path) if is_array else _lines(sample.path, options.progress, tally)
    for line, value in found:
        tally.num_rows += is_array
        if isinstance(value, dict):
            yield line, value
        else:
            tally.add_bad(line, "no JSON object")


def read_document(path: Path) -> object:
    """Return a file that is one JSON value.

    Raises:
        TraceError: it is none.
    """
    with open_unpacked(path) as file:
        try:
            return json.load(file)
        except json.JSONDecodeError as error:
            raise TraceError(
                f"no whole JSON document ({error.msg} at character {error.colno})",
                path=path,
                row=error.lineno,
                advice="Was the file cut off here?",
            ) from error
        except UnicodeDecodeError as error:
            raise TraceError("bytes that are no UTF-8 text", path=path, advice="Give the file as it was written") from (
                error
            )


def _lines(path: Path, progress: Progress | None, tally: Tally) -> Iterator[tuple[int, object]]:
    raw, total = open_raw(path), path.stat().st_size
    with io.BufferedReader(raw) as file:
        for line, text in enumerate(file, start=1):
            if progress is not None and line % PROGRESS_LINES == 0:
                progress(raw.packed_bytes_read, total)
            if not text.isspace():
                tally.num_rows += 1
                try:
                    value = json.loads(text)
                except ValueError as error:
                    tally.add_bad(line, f"no JSON object ({_fault(error)})")
                    continue
                if MENTIONS_MEDIA.search(text):
                    refuse_media_row(value, path, line)
                yield line, value


def _array_items(path: Path) -> Iterator[tuple[int, object]]:
    """Decode one item after the other, so that an array larger than memory streams too."""
    decoder = json.JSONDecoder()
    with io.TextIOWrapper(open_unpacked(path), encoding="utf-8-sig") as file:
        text = _skip(file, path)
        at, line = 1, 1 + text.count("\n", 0, 1)
        while True:
            start, at = at, _after_space(text, at)
            line += text.count("\n", start, at)
            if text.startswith("]", at):
                return
            try:
                value, end = decoder.raw_decode(text, at)
            except json.JSONDecodeError as error:
                text, at = text[at:] + _read_more(file, path, line, len(text) - at, error), 0
                continue
            if MENTIONS_MEDIA_TEXT.search(text, at, end):
                refuse_media_row(value, path, line)
            yield line, value
            line += text.count("\n", at, end)
            at = end


def _skip(file: io.TextIOWrapper, path: Path) -> str:
    text = _read(file, path, CHUNK_CHARS).lstrip()
    if not text.startswith("["):
        raise TraceError("no JSON array", path=path, row=1, advice="Give one object a line, or one array of objects")
    return text


def _read_more(file: io.TextIOWrapper, path: Path, line: int, num_chars: int, error: json.JSONDecodeError) -> str:
    more = _read(file, path, max(CHUNK_CHARS, num_chars)) if num_chars < MAX_ITEM_CHARS else ""
    if not more:
        raise TraceError(
            f"the array breaks off or is no JSON here ({error.msg})",
            path=path,
            row=line,
            advice="Was the file cut off here?",
        ) from error
    return more


def _read(file: io.TextIOWrapper, path: Path, num_chars: int) -> str:
    try:
        return file.read(num_chars)
    except UnicodeDecodeError as error:
        raise TraceError("bytes that are no UTF-8 text", path=path, advice="Give the file as it was written") from error


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _fault(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}"
    return "bytes that are no UTF-8 text"
