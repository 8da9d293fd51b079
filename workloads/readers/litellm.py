"""LiteLLM's spend logs: rows of its table `LiteLLM_SpendLogs` as JSON lines, a JSON array or a CSV export.

Times without a zone are UTC, as LiteLLM stores them. Source: LiteLLM's database schema and its `/spend/logs` endpoint.
"""

import csv
import io
import json
from collections.abc import Iterator
from functools import partial

from workloads.readers.entries import Entry, Log, find, find_text, open_log, read_entries, tokens_of
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, Tally, read_rows
from workloads.readers.media import refuse_media_row
from workloads.readers.unpacking import open_unpacked
from workloads.trace import Trace, TraceError

NAME = "litellm"
COLUMNS = frozenset({"startTime", "endTime", "prompt_tokens", "completion_tokens"})
CLIENT_COLUMNS = ("end_user", "user", "api_key")
MAX_CELL_CHARS = 1 << 28
NOT_GENERATING = ("embedding", "image", "transcription", "speech", "moderation", "rerank")


def _recognises(sample: Sample) -> bool:
    if sample.kind == "document":
        return all(f'"{name}"' in sample.head for name in COLUMNS)
    return sample.kind in ("csv", "json_lines") and set(sample.names) >= COLUMNS


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one export.

    Raises:
        TraceError: rows that cannot be read, by line and reason, or a row with more than text.
    """
    log = open_log(NAME, sample, options)
    rows = _csv_rows(log.tally) if sample.kind == "csv" else read_rows(sample, options, log.tally)
    cached = [0]
    entries = read_entries(rows, partial(_entry, log=log, num_cached=cached), log)
    return trace_of(entries, log, notes=lambda: _notes(cached[0]))


def _entry(line: int, row: Row, *, log: Log, num_cached: list[int]) -> Entry | None:
    if any(word in str(row.get("call_type") or "") for word in NOT_GENERATING):
        log.tally.dropped["call that generates no text"] += 1
        return None
    start_ns, end_ns = log.clock.read(row.get("startTime")), log.clock.read(row.get("endTime"))
    first = find(row, "completionStartTime")
    first_ns = None if first is None else log.clock.read(first)
    inputs = tokens_of(find(row, "prompt_tokens"), "prompt_tokens")
    outputs = tokens_of(find(row, "completion_tokens"), "completion_tokens")
    num_cached[0] += str(row.get("cache_hit")).lower() == "true"
    return Entry(
        line,
        start_ns,
        inputs,
        outputs,
        is_failed=_has_failed(row) or (not inputs and not outputs),
        session_id=find_text(row, "session_id"),
        client_id=next((f"{name}:{value}" for name in CLIENT_COLUMNS if (value := find_text(row, name))), None),
        model=find_text(row, "model", "model_group"),
        ttft_ns=first_ns - start_ns if first_ns is not None and start_ns <= first_ns < end_ns else None,
        service_ns=end_ns - start_ns if end_ns >= start_ns else None,
    )


def _has_failed(row: Row) -> bool:
    metadata = row.get("metadata")
    if isinstance(metadata, str) and "failure" in metadata:
        try:
            metadata = json.loads(metadata)
        except ValueError:
            metadata = None
    return "failure" in (find(row, "status"), find(metadata, "status"))


def _csv_rows(tally: Tally) -> Iterator[tuple[int, Row]]:
    limit = csv.field_size_limit(MAX_CELL_CHARS)
    try:
        with io.TextIOWrapper(open_unpacked(tally.path), encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                tally.num_rows += 1
                if None in row or None in row.values():
                    tally.add_bad(reader.line_num, "another number of cells than the header has")
                else:
                    refuse_media_row(row, tally.path, reader.line_num)
                    yield reader.line_num, dict(row)
    except csv.Error as error:
        raise TraceError(f"no CSV ({error})", path=tally.path, advice="Export the table anew, as CSV") from error
    finally:
        csv.field_size_limit(limit)


def _notes(num_cached: int) -> tuple[str, ...]:
    note = f"{num_cached} requests were answered from LiteLLM's own response cache and reached no engine"
    return (note,) if num_cached else ()


FORMAT = Format(NAME, "rows with startTime, endTime, prompt_tokens, completion_tokens", _recognises, _read)
