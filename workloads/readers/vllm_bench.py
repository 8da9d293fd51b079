"""Results of `vllm bench serve --save-detailed`: one JSON object with lists of one value a request, in seconds.

`start_times` are readings of a monotonic clock. Source: vLLM, `benchmarks/serve.py` and `endpoint_request_func.py`.
"""

from collections.abc import Iterator
from functools import partial
from typing import cast

from workloads.readers.entries import Entry, Log, find_text, open_log, read_entries, tokens_of
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, read_document, read_rows
from workloads.readers.log_clock import RowError, duration_ns
from workloads.trace import NS_PER_S, Trace, TraceError

NAME = "vllm_bench"
LISTS = ("start_times", "ttfts", "itls", "input_lens", "output_lens", "errors")
TELLING = ('"total_input_tokens"', '"request_throughput"')
RESOLUTION_DIGITS = 9


def _recognises(sample: Sample) -> bool:
    is_object = sample.kind == "json_lines" or (sample.kind == "document" and sample.head.lstrip().startswith("{"))
    return is_object and all(word in sample.head for word in TELLING) and '"benchmarks"' not in sample.head


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one result.

    Raises:
        TraceError: lists are missing or of different lengths, or the file holds several results.
    """
    log = open_log(NAME, sample, options)
    result = _only_result(sample, options, log)
    _check_lists(result, sample)
    log.clock.num_digits = RESOLUTION_DIGITS
    parse = partial(_entry, model=find_text(result, "model_id"))
    return trace_of(read_entries(_requests(result, log), parse, log), log)


def _only_result(sample: Sample, options: ReadOptions, log: Log) -> Row:
    if sample.kind == "document":
        return cast("Row", read_document(sample.path))
    results = [row for _, row in read_rows(sample, options, log.tally)]
    if len(results) != 1:
        raise TraceError(
            f"{len(results)} results in one file, each with a clock of its own",
            path=sample.path,
            advice="Give each result as a file of its own",
        )
    return results[0]


def _check_lists(result: Row, sample: Sample) -> None:
    missing = [name for name in LISTS if not isinstance(result.get(name), list)]
    if missing:
        raise TraceError(
            f"it lacks {', '.join(missing)}",
            path=sample.path,
            advice="Run with --save-detailed; start_times came with later versions of vLLM",
        )
    sizes = {name: len(result[name]) for name in LISTS}
    if len(set(sizes.values())) > 1:
        raise TraceError(f"lists of different lengths: {sizes}", path=sample.path, advice="Was the file edited?")


def _requests(result: Row, log: Log) -> Iterator[tuple[int, Row]]:
    log.tally.num_rows = len(result["start_times"])
    log.tally.num_bad = 0
    columns = [result[name] for name in LISTS]
    for number, values in enumerate(zip(*columns, strict=True), start=1):
        yield number, dict(zip(LISTS, values, strict=True))


def _entry(number: int, row: Row, *, model: str | None) -> Entry:
    """Read one request; `number` stands where others have a line. vLLM leaves ttft at 0 where no token came."""
    start, ttft_ns = duration_ns(row["start_times"], "s"), duration_ns(row["ttfts"], "s")
    if (
        start is None
        or not isinstance(row["itls"], list)
        or not all(isinstance(one, float | int) for one in row["itls"])
    ):
        raise RowError(f"request {number} has no start or no list of inter-token times")
    is_failed = bool(row["errors"]) or not ttft_ns
    return Entry(
        number,
        start,
        tokens_of(row["input_lens"], f"input_lens of request {number}"),
        tokens_of(row["output_lens"], f"output_lens of request {number}"),
        is_failed=is_failed,
        model=model,
        ttft_ns=None if is_failed else ttft_ns,
        service_ns=None if is_failed or ttft_ns is None else ttft_ns + round(sum(row["itls"]) * NS_PER_S),
    )


FORMAT = Format(NAME, "the JSON of vllm bench serve --save-detailed", _recognises, _read)
