"""OpenTelemetry spans of generative AI: OTLP JSON (one document, or one export a line), or one span a row.

Only calls of a model count. Spans around such a call that repeat its usage (an agent's, a framework's) and spans
without any usage (tools) are left out and counted. Source: OpenTelemetry semantic conventions, GenAI spans; OTLP 1.x.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from workloads.readers.entries import Entry, Log, find, find_text, open_log, read_entries, tokens_of
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, Tally, read_document, read_rows
from workloads.readers.log_clock import RowError, duration_ns
from workloads.readers.units import TimeUnit
from workloads.trace import Trace

NAME = "otel"
INPUTS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.usage.prompt_tokens",
    "llm.token_count.prompt",
)
OUTPUTS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "llm.token_count.completion",
)
MODEL_CALLS = frozenset({"chat", "completion", "text_completion", "generate_content"})
STARTS = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time", "Timestamp", "timestamp")
ENDS = ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")
SPAN_IDS = ("spanId", "span_id", "context.span_id", "SpanId")
PARENT_IDS = ("parentSpanId", "parent_span_id", "parent_id", "ParentSpanId")
HOLDERS = ("attributes", "SpanAttributes", "span_attributes")
ERRORS = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error", "error")


def _recognises(sample: Sample) -> bool:
    if sample.kind not in ("document", "json_lines"):
        return False
    return '"resourceSpans"' in sample.head or (
        any(f'"{name}' in sample.head for name in ("gen_ai.", "attributes.gen_ai.", "llm.usage.", "llm.token_count."))
        and any(f'"{name}"' in sample.head for name in STARTS)
    )


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one file of spans.

    Raises:
        TraceError: spans that cannot be read, by line and reason, or no call of a model among them.
    """
    unit: TimeUnit | None = "ns" if '"startTimeUnixNano"' in sample.head else None
    log = open_log(NAME, sample, options, known_unit=unit)
    parents = {parent for _, span in _spans(sample, options, log) if (parent := _parent_of_usage(span)) is not None}
    again = open_log(NAME, sample, options, known_unit=unit)
    entries = read_entries(_spans(sample, options, again), partial(_entry, log=again, parents=parents), again)
    return trace_of(entries, again)


def _spans(sample: Sample, options: ReadOptions, log: Log) -> Iterator[tuple[int, Row]]:
    """Yield spans, their attributes as one flat mapping under `attributes`."""
    is_one = sample.kind == "document" and sample.head.lstrip().startswith("{")
    rows = _document(sample, log.tally) if is_one else read_rows(sample, options, log.tally)
    for line, row in rows:
        batches = find(row, "resourceSpans", "resource_spans")
        spans = list(_inner(batches)) if isinstance(batches, list) else [row]
        log.tally.num_rows += len(spans) - 1  # the share of unreadable rows is one of spans, not of exports
        for span in spans:
            yield line, {**span, "attributes": _attributes(span)}


def _document(sample: Sample, tally: Tally) -> Iterable[tuple[int, Row]]:
    value = read_document(sample.path)
    tally.num_rows += 1
    if isinstance(value, dict):
        return ((1, value),)
    tally.add_bad(1, "no JSON object")
    return ()


def _inner(batches: list[object]) -> Iterator[Row]:
    for batch in batches:
        for scope in _list(find(batch, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")):
            yield from (span for span in _list(find(scope, "spans")) if isinstance(span, dict))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _attributes(span: Row) -> dict[str, object]:
    flat: dict[str, object] = {name.removeprefix("attributes."): value for name, value in span.items()}
    held = find(span, *HOLDERS)
    if isinstance(held, dict):
        return {**flat, **held}
    for one in _list(held):
        key, value = find(one, "key"), find(one, "value")
        if isinstance(key, str) and isinstance(value, dict):
            flat[key] = find(value, "intValue", "stringValue", "doubleValue", "boolValue")
    return flat


def _parent_of_usage(span: Row) -> str | None:
    inputs = find(span["attributes"], *INPUTS)
    is_call = inputs is not None and _left_out(_operation(span), has_usage=True) is None
    return find_text(span, *PARENT_IDS) if is_call else None


def _operation(span: Row) -> str | None:
    return find_text(span["attributes"], "gen_ai.operation.name", "llm.request.type")


def _entry(line: int, span: Row, *, log: Log, parents: set[str]) -> Entry | None:
    attributes = span["attributes"]
    inputs, outputs = find(attributes, *INPUTS), find(attributes, *OUTPUTS)
    reason = _left_out(_operation(span), has_usage=inputs is not None or outputs is not None)
    if reason is None and find_text(span, *SPAN_IDS) in parents:
        reason = "span around another model call"
    if reason is not None:
        log.tally.dropped[reason] += 1
        return None
    start = find(span, *STARTS)
    if start is None:
        raise RowError("a span without a start time")
    start_ns, end = log.clock.read(start), find(span, *ENDS)
    end_ns = None if end is None else log.clock.read(end)
    return Entry(
        line,
        start_ns,
        tokens_of(inputs, "gen_ai.usage.input_tokens"),
        tokens_of(outputs, "gen_ai.usage.output_tokens"),
        is_failed=find(span, "status.code", "status.status_code", "status_code", "StatusCode", "status") in ERRORS
        or find(attributes, "error.type") is not None,
        session_id=find_text(attributes, "gen_ai.conversation.id", "session.id"),
        client_id=find_text(attributes, "user.id", "enduser.id"),
        model=find_text(attributes, "gen_ai.request.model", "gen_ai.response.model", "llm.model_name"),
        ttft_ns=duration_ns(find(attributes, "gen_ai.response.time_to_first_chunk"), "s"),
        service_ns=end_ns - start_ns if end_ns is not None and end_ns >= start_ns else None,
        cached_tokens=tokens_of(find(attributes, "gen_ai.usage.cache_read.input_tokens"), "cache_read.input_tokens"),
    )


def _left_out(operation: str | None, *, has_usage: bool) -> str | None:
    if operation is None:
        return None if has_usage else "span without token usage"
    return None if operation in MODEL_CALLS else "span of another operation than a model call"


FORMAT = Format(NAME, "OTLP JSON, or spans with gen_ai.usage.input_tokens", _recognises, _read)
