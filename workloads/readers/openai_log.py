"""OpenAI-style request logs: one response with its `usage` a line, bare or inside a wrapper with request and response.

The wrapper is a gateway's (`{timestamp, request, response}`) or the batch API's (`{response: {status_code, body}}`).
Source: OpenAI API reference, chat completion, response and batch objects.
"""

import re
from collections import Counter
from functools import partial

from workloads.readers.entries import NOTHING, Entry, Log, find, name_of, open_log, read_entries, tokens_of
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, read_rows
from workloads.readers.log_clock import RowError
from workloads.readers.messages import texts_of
from workloads.trace import Trace

NAME = "openai_log"
USAGE = re.compile(r'"usage"\s*:\s*\{[^{}]*"(?:prompt_tokens|input_tokens)"\s*:')
TIME = re.compile(r'"(?:start_time|created_at|timestamp|created)"\s*:')
TIMES = ("start_time", "created_at", "timestamp", "created")
SESSIONS = ("session_id", "conversation_id")
INNER_SESSIONS = ("conversation.id", "response.conversation.id", "metadata.session_id", "request.metadata.session_id")
CACHED = ("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens")
CLIENTS = ("user", "safety_identifier", "user_id")
INSIDE = ("response.body", "response", "body", "request.body", "request")
FAILED = frozenset({"failed", "failure", "error", "errored", "cancelled", "canceled", "timeout"})
FIRST_BAD_STATUS = 400


def _recognises(sample: Sample) -> bool:
    is_rows = sample.kind == "json_lines" or (sample.kind == "document" and sample.head.lstrip().startswith("["))
    return is_rows and USAGE.search(sample.head) is not None and TIME.search(sample.head) is not None


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one log.

    Raises:
        TraceError: rows that cannot be read, by line and reason, or a row with more than text.
    """
    log = open_log(NAME, sample, options)
    times: Counter[str] = Counter()
    entries = read_entries(read_rows(sample, options, log.tally), partial(_entry, log=log, times=times), log)
    return trace_of(entries, log, notes=lambda: _notes(times))


def _entry(line: int, row: Row, *, log: Log, times: Counter[str]) -> Entry | None:
    layers = _layers(row)
    usage, kind = _first(layers, "usage"), _first(layers, "object")
    if usage is None and str(kind).endswith(".chunk"):
        log.tally.dropped["piece of a streamed answer"] += 1
        return None
    if kind == "list":
        log.tally.dropped["answer without generated tokens"] += 1
        return None
    return Entry(
        line,
        _stamp_ns(layers, log, times),
        tokens_of(find(usage, "prompt_tokens", "input_tokens"), "usage.prompt_tokens"),
        tokens_of(find(usage, "completion_tokens", "output_tokens"), "usage.completion_tokens"),
        is_failed=_has_failed(row, layers),
        session_id=name_of(_first(layers, *SESSIONS) or find(row, *INNER_SESSIONS)),
        client_id=name_of(_first(layers, *CLIENTS)),
        model=name_of(_first(layers, "model")),
        cached_tokens=tokens_of(find(usage, *CACHED), "cached_tokens"),
        texts=texts_of(row, INSIDE) if log.options.count_tokens is not None or log.options.keep_text else None,
    )


def _layers(row: Row) -> list[Row]:
    """Return the row and the objects in it that are a response or a request, the outermost first."""
    found = [row]
    for outer in ("response", "body", "request"):
        inner = row.get(outer)
        if isinstance(inner, dict):
            body = inner.get("body")
            found += [inner, body] if isinstance(body, dict) else [inner]
    return found


def _first(layers: list[Row], *names: str) -> object:
    for layer in layers:
        for name in names:
            value = layer.get(name)
            if value is not None and value not in NOTHING:
                return value
    return None


def _stamp_ns(layers: list[Row], log: Log, times: Counter[str]) -> int:
    mapped = log.options.mapping.get("arrival_ns")
    names = TIMES if mapped is None else (mapped,)
    for layer in layers:
        for name in names:
            value = layer.get(name) if mapped is None else find(layer, name)
            if value is not None and value not in NOTHING:
                times[name] += 1
                return log.clock.read(value)
    raise RowError(f"it has no time under {', '.join(names)}")


def _has_failed(row: Row, layers: list[Row]) -> bool:
    answered = [layer for layer in layers if layer is not row.get("request")]
    if _first(answered, "error"):
        return True
    for layer in answered:
        for name in ("status_code", "status"):
            status = layer.get(name)
            if isinstance(status, str) and (status.lower() in FAILED or (status.isdigit() and _is_bad(int(status)))):
                return True
            if isinstance(status, int) and _is_bad(status):
                return True
    return False


def _is_bad(status: int) -> bool:
    return status >= FIRST_BAD_STATUS


def _notes(times: Counter[str]) -> tuple[str, ...]:
    fields = ", ".join(f"{name} ({count} rows)" for name, count in times.most_common())
    return (f"arrivals are the log's {fields}; if it writes them when an answer ends, they come too late",)


FORMAT = Format(NAME, "JSON rows with usage.prompt_tokens and created or timestamp", _recognises, _read)
