"""What a log says of single requests: one entry each, and how its values are found and checked.

A value that is not there is None; one that is no token count is refused. Making a trace of entries is `entry_table`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from workloads.readers.format import ReadOptions, Sample
from workloads.readers.json_rows import Row, Tally
from workloads.readers.log_clock import Clock, RowError
from workloads.readers.tokens import Texts
from workloads.readers.units import TimeUnit

MAX_TOKENS = 2**31 - 1
NOTHING = ("", "-")


class Entry(NamedTuple):
    """What a log says of one request. None: the log does not say."""

    line: int
    stamp_ns: int
    input_tokens: int | None
    output_tokens: int | None
    is_failed: bool = False
    session_id: str | None = None
    client_id: str | None = None
    model: str | None = None
    ttft_ns: int | None = None
    service_ns: int | None = None
    cached_tokens: int | None = None
    texts: Texts | None = None


Parse = Callable[[int, Row], Entry | None]


@dataclass(frozen=True, slots=True)
class Log:
    """One log being read: its format, its file, its clock, and the tally of its rows.

    `known_unit` is the unit of its times where the format fixes it, so that nobody needs to be asked about it.
    """

    format: str
    sample: Sample
    options: ReadOptions
    clock: Clock
    tally: Tally
    known_unit: TimeUnit | None = None


def open_log(name: str, sample: Sample, options: ReadOptions, *, known_unit: TimeUnit | None = None) -> Log:
    """Begin to read a log.

    Raises:
        TraceError: the options name a time zone that is none.
    """
    clock = Clock(unit=known_unit or options.unit, zone=options.zone)
    return Log(name, sample, options, clock, Tally(sample.path, options.max_bad_ratio), known_unit)


def read_entries(rows: Iterable[tuple[int, Row]], parse: Parse, log: Log) -> Iterator[Entry]:
    """Yield what each row says; rows that cannot be read are tallied, rows for which `parse` gives None left out."""
    for line, row in rows:
        try:
            entry = parse(line, row)
        except RowError as error:
            log.tally.add_bad(line, str(error))
            continue
        if entry is not None:
            yield entry


def find(row: object, *paths: str) -> object:
    """Return the first value that is there under one of the dotted paths; None where none is."""
    if not isinstance(row, dict):
        return None
    for path in paths:
        value = row.get(path)
        if value is None and "." in path:
            value = _at(row, path)
        if value is not None and value not in NOTHING:
            return value
    return None


def find_text(row: object, *paths: str) -> str | None:
    """Return the first value that is there, as a name."""
    return name_of(find(row, *paths))


def name_of(value: object) -> str | None:
    """Return a value as a name: a text as it is, a number spelled; anything else is none."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def tokens_of(value: object, name: str) -> int | None:
    """Return a token count, None where there is none.

    Raises:
        RowError: it is no whole number of tokens.
    """
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TOKENS:
        raise RowError(f"{name} must be a whole number of tokens between 0 and {MAX_TOKENS}")
    return value


def _at(row: object, path: str) -> object:
    if not isinstance(row, dict):
        return None
    if path in row:
        return row[path]
    head, dot, rest = path.partition(".")
    return _at(row.get(head), rest) if dot else None
