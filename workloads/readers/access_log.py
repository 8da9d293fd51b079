"""NGINX and Envoy access logs in JSON: arrivals, and lengths only where a mapping names fields that hold token counts.

NGINX writes a line when a request ends, so its arrival is that moment less `request_time`; Envoy writes the start.
Source: ngx_http_log_module (`msec`, `time_iso8601`, `request_time`); Envoy, access log format (START_TIME, DURATION).
"""

import re
from functools import partial
from typing import NamedTuple

from workloads.readers.entries import Entry, Log, find, find_text, open_log, read_entries, tokens_of
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, read_rows
from workloads.readers.log_clock import RowError, duration_ns
from workloads.readers.units import TimeUnit
from workloads.readers.unpacking import open_unpacked
from workloads.trace import Trace, TraceError

NAME = "access_log"
GENERATING = re.compile(rb"/(?:completions|messages|responses|generate|generate_stream|api/chat)(?=[?\"\\ ])")
PATHS = ("uri", "request_uri", "path", "request", "x-envoy-original-path")
METHODS = ("request_method", "method")
ADDRESSES = ("http_x_forwarded_for", "x_forwarded_for", "remote_addr", "downstream_remote_address")
ARRIVAL = "arrival_ns"
MAPPED = (ARRIVAL, "input_tokens", "output_tokens", "session_id", "client_id", "model")
FIRST_BAD_STATUS = 400
ASKED = ("input_tokens", "output_tokens")
ADVICE = "map the fields that hold token counts (input_tokens=..., output_tokens=...) if the log has them"


class Dialect(NamedTuple):
    """Where one server writes what; `is_end` says that its time is the end of the request."""

    name: str
    times: tuple[str, ...]
    duration: str
    duration_unit: TimeUnit
    status: str
    is_end: bool


NGINX = Dialect("NGINX", ("msec", "time_iso8601", "@timestamp"), "request_time", "s", "status", is_end=True)
ENVOY = Dialect("Envoy", ("start_time",), "duration", "ms", "response_code", is_end=False)


def _recognises(sample: Sample) -> bool:
    return sample.kind == "json_lines" and _dialect(sample) is not None


def _dialect(sample: Sample) -> Dialect | None:
    names = set(sample.names)
    if {"start_time", "response_code"} <= names:
        return ENVOY
    is_nginx = names & {"msec", "time_iso8601", "@timestamp"} and "status" in names and names & {*PATHS, "remote_addr"}
    return NGINX if is_nginx else None


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one log.

    Raises:
        TraceError: it lacks what arrivals are made of, or has rows that cannot be read.
    """
    dialect = _dialect(sample)
    _check_mapping(sample, options)
    if dialect is None or (dialect.is_end and dialect.duration not in sample.names and ARRIVAL not in options.mapping):
        raise TraceError(
            "NGINX writes a line when a request ends, and without request_time nobody knows when it began",
            path=sample.path,
            row=1,
            advice="Add $request_time (and $msec, which is finer than $time_iso8601) to log_format",
        )
    log = open_log(NAME, sample, options)
    is_telling = _names_endpoints(sample)
    parse = partial(_entry, log=log, dialect=dialect, is_telling=is_telling)
    entries = read_entries(read_rows(sample, options, log.tally), parse, log)
    return trace_of(entries, log, notes=lambda: _notes(dialect, options, is_telling=is_telling))


def _entry(line: int, row: Row, *, log: Log, dialect: Dialect, is_telling: bool) -> Entry | None:
    if is_telling and not _generates(row):
        log.tally.dropped["request to another path than one that generates"] += 1
        return None
    mapping = log.options.mapping
    length_ns = duration_ns(find(row, dialect.duration), dialect.duration_unit)
    return Entry(
        line,
        _arrival_ns(row, length_ns, log, dialect),
        tokens_of(find(row, mapping.get("input_tokens", "")), "input_tokens"),
        tokens_of(find(row, mapping.get("output_tokens", "")), "output_tokens"),
        is_failed=_has_failed(row, dialect),
        session_id=find_text(row, mapping.get("session_id", "")),
        client_id=find_text(row, mapping["client_id"]) if "client_id" in mapping else _address(row),
        model=find_text(row, mapping.get("model", "")),
        service_ns=length_ns,
    )


def _arrival_ns(row: Row, length_ns: int | None, log: Log, dialect: Dialect) -> int:
    mapped = log.options.mapping.get(ARRIVAL)
    names = dialect.times if mapped is None else (mapped,)
    stamp = find(row, *names)
    if stamp is None:
        raise RowError(f"it has no time under {', '.join(names)}")
    if mapped is not None or not dialect.is_end:
        return log.clock.read(stamp)
    if length_ns is None:
        raise RowError(f"it has no {dialect.duration}, so nobody knows when it began")
    return log.clock.read(stamp) - length_ns


def _address(row: Row) -> str | None:
    """Return the first address on the way to the server, without its port, which changes with each connection."""
    address = find_text(row, *ADDRESSES)
    if address is None:
        return None
    first = address.split(",")[0].strip()
    return first.rpartition(":")[0] if first.count(":") == 1 or first.startswith("[") else first


def _check_mapping(sample: Sample, options: ReadOptions) -> None:
    """Refuse a mapping that names something of ours that no access log has, or a field that its beginning lacks."""
    strange = [ours for ours in options.mapping if ours not in MAPPED]
    if strange:
        raise TraceError(
            f"an access log is not asked for {', '.join(strange)}",
            path=sample.path,
            advice=f"Map only {', '.join(MAPPED)}; how long a request took is read from the log's own field",
        )
    absent = [theirs for theirs in options.mapping.values() if f'"{theirs.rsplit(".", 1)[-1]}"' not in sample.head]
    if absent:
        raise TraceError(
            f"no field {', '.join(absent)} in its first lines; there are {', '.join(sample.names)}",
            path=sample.path,
            row=1,
            advice="Write a field of a field with a point between, as usage.input",
        )


def _names_endpoints(sample: Sample) -> bool:
    with open_unpacked(sample.path) as file:
        return any(GENERATING.search(line.replace(b"\\/", b"/")) for line in file)


def _generates(row: Row) -> bool:
    path, method = find_text(row, *PATHS), find_text(row, *METHODS)
    return path is not None and GENERATING.search(path.encode() + b" ") is not None and method in (None, "POST")


def _has_failed(row: Row, dialect: Dialect) -> bool:
    """Tell a failure by its status; Envoy writes 0 where the client left before an answer."""
    status = str(find(row, dialect.status))
    return not status.isdigit() or int(status) >= FIRST_BAD_STATUS or int(status) == 0


def _notes(dialect: Dialect, options: ReadOptions, *, is_telling: bool) -> tuple[str, ...]:
    end = f"arrivals are the time of the line less {dialect.duration}, since {dialect.name} writes when a request ends"
    notes = (
        end if dialect.is_end and ARRIVAL not in options.mapping else "",
        "" if all(name in options.mapping for name in ASKED) else f"arrivals only: no lengths are known; {ADVICE}",
        "" if is_telling else "no path of the log is one that generates text, so every line counts as a request",
    )
    return tuple(note for note in notes if note)


FORMAT = Format(NAME, "JSON lines of NGINX (msec, request_time) or Envoy (start_time, duration)", _recognises, _read)
