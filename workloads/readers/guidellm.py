"""GuideLLM's `benchmarks.json`: several benchmarks, each with successful, incomplete and errored requests, in seconds.

All are taken, in order of start. Requests that did not complete stand as failed. Source: GuideLLM,
`schemas/request_stats.py`, and `benchmark/benchmark.py` of its versions up to 0.3.
"""

from collections.abc import Iterator
from functools import partial

from workloads.readers.entries import Entry, Log, find, find_text, open_log, read_entries, tokens_of
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, read_document
from workloads.readers.log_clock import RowError
from workloads.trace import Trace, TraceError

NAME = "guidellm"
TIMINGS = "info.timings"
STARTS = ("request_start_time", "start_time", f"{TIMINGS}.request_start")
FIRSTS = (f"{TIMINGS}.first_token_iteration", "first_token_time")
ENDS = (f"{TIMINGS}.last_token_iteration", "last_token_time", "request_end_time", "end_time")
OUTCOMES = ("successful", "incomplete", "errored")
TOTALS = ("request_totals.total", "metrics.request_totals.total")


def _recognises(sample: Sample) -> bool:
    is_object = sample.kind == "json_lines" or (sample.kind == "document" and sample.head.lstrip().startswith("{"))
    return is_object and '"benchmarks"' in sample.head and ("guidellm" in sample.head or "generative" in sample.head)


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one report.

    Raises:
        TraceError: it is no report, or lists no requests.
    """
    log = open_log(NAME, sample, options, known_unit="s")
    found = find(read_document(sample.path), "benchmarks")
    benchmarks = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    rows = list(_requests(benchmarks))
    if not rows:
        raise TraceError(
            f"{len(benchmarks)} benchmarks without any request",
            path=sample.path,
            advice="Write the report with its requests (GuideLLM's --sample-requests, or its JSON output)",
        )
    log.tally.num_rows = len(rows)
    entries = read_entries(rows, partial(_entry, log=log), log)
    return trace_of(entries, log, notes=lambda: _notes(benchmarks, len(rows)))


def _requests(benchmarks: list[Row]) -> Iterator[tuple[int, Row]]:
    number = 0
    for benchmark in benchmarks:
        for outcome in OUTCOMES:
            listed = find(benchmark, f"requests.{outcome}")
            for request in listed if isinstance(listed, list) else []:
                number += 1
                yield number, {**request, "outcome": outcome} if isinstance(request, dict) else {}


def _entry(number: int, row: Row, *, log: Log) -> Entry | None:
    start, first, end = find(row, *STARTS), find(row, *FIRSTS), find(row, *ENDS)
    if start is None and row.get("outcome") != "successful":
        log.tally.dropped["request that was never sent"] += 1
        return None
    if start is None:
        raise RowError(f"request {number} has no start")
    start_ns = log.clock.read(start)
    is_failed = row["outcome"] != "successful"
    return Entry(
        number,
        start_ns,
        tokens_of(find(row, "prompt_tokens", "input_metrics.total_tokens"), f"prompt_tokens of request {number}"),
        tokens_of(find(row, "output_tokens", "output_metrics.total_tokens"), f"output_tokens of request {number}"),
        is_failed=is_failed,
        session_id=find_text(row, "info.conversation_id"),
        ttft_ns=None if is_failed else _since_ns(first, start_ns, log),
        service_ns=None if is_failed else _since_ns(end, start_ns, log),
    )


def _since_ns(moment: object, start_ns: int, log: Log) -> int | None:
    if moment is None:
        return None
    length_ns = log.clock.read(moment) - start_ns
    return length_ns if length_ns >= 0 else None


def _notes(benchmarks: list[Row], num_listed: int) -> tuple[str, ...]:
    totals = [find(one, *TOTALS) for one in benchmarks]
    num_sent = sum(one for one in totals if isinstance(one, int))
    notes = (
        f"{len(benchmarks)} benchmarks one after the other, each at its own load, were read as one trace"
        if len(benchmarks) > 1
        else "",
        f"the report lists {num_listed} of {num_sent} requests, a sample, so its rate is lower than what was sent"
        if num_sent > num_listed
        else "",
    )
    return tuple(note for note in notes if note)


FORMAT = Format(NAME, "GuideLLM's benchmarks.json", _recognises, _read)
