"""AIPerf's `profile_export.jsonl`: one record a request, `metadata` in epoch nanoseconds, `metrics` with their units.

Its `profile_export_aiperf.json` holds statistics and no requests, so it is refused. Source: AIPerf documentation,
Working with Profile Export Files.
"""

from functools import partial

from workloads.readers.entries import Entry, Log, find, find_text, open_log, read_entries, tokens_of
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, read_rows
from workloads.readers.log_clock import RowError, duration_ns
from workloads.readers.units import UNIT_NS, TimeUnit
from workloads.trace import Trace, TraceError

NAME = "aiperf"
STARTS = ("metadata.request_start_ns", "metadata.timestamp_ns")
UNITS: dict[str, TimeUnit] = {"sec": "s", "seconds": "s", **{unit: unit for unit in UNIT_NS}}
STATISTICS = ('"request_latency"', '"avg"', '"unit"')


def _recognises(sample: Sample) -> bool:
    return _is_records(sample) or _is_statistics(sample)


def _is_records(sample: Sample) -> bool:
    return sample.kind == "json_lines" and find(sample.row, *STARTS) is not None and "metrics" in sample.names


def _is_statistics(sample: Sample) -> bool:
    return sample.kind in ("document", "json_lines") and all(word in sample.head for word in STATISTICS)


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one run's records.

    Raises:
        TraceError: the file holds statistics, or records that cannot be read.
    """
    if not _is_records(sample):
        raise TraceError(
            "statistics of a whole run, not its requests", path=sample.path, advice="Give profile_export.jsonl"
        )
    log = open_log(NAME, sample, options, known_unit="ns")
    entries = read_entries(read_rows(sample, options, log.tally), partial(_entry, log=log), log)
    return trace_of(entries, log)


def _entry(line: int, row: Row, *, log: Log) -> Entry | None:
    if find(row, "metadata.benchmark_phase", "metadata.credit_phase") == "warmup":
        log.tally.dropped["warm-up request"] += 1
        return None
    start = find(row, *STARTS)
    if start is None:
        raise RowError("a record without request_start_ns")
    is_failed = find(row, "error", "metadata.error") is not None or find(row, "metadata.was_cancelled") is True
    return Entry(
        line,
        log.clock.read(start),
        _tokens(row, "input_sequence_length"),
        _tokens(row, "output_sequence_length"),
        is_failed=is_failed,
        session_id=find_text(row, "metadata.x_correlation_id", "metadata.conversation_id"),
        ttft_ns=None if is_failed else _length_ns(row, "time_to_first_token"),
        service_ns=None if is_failed else _length_ns(row, "request_latency"),
    )


def _tokens(row: Row, metric: str) -> int | None:
    return tokens_of(find(row, f"metrics.{metric}.value"), metric)


def _length_ns(row: Row, metric: str) -> int | None:
    value, unit = find(row, f"metrics.{metric}.value"), find_text(row, f"metrics.{metric}.unit")
    if value is None:
        return None
    if unit not in UNITS:
        raise RowError(f"{metric} is in none of the units {', '.join(UNITS)}")
    return duration_ns(value, UNITS[unit])


FORMAT = Format(NAME, "AIPerf's profile_export.jsonl", _recognises, _read)
