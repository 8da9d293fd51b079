"""Results of `vllm bench serve --save-result` in our words. Source: vLLM 0.32.0, `benchmarks/serve.py`.

The file names no version, so it is judged by its keys.
"""

from collections.abc import Iterator

from orchestrator.interchange.foreign import EVERY_PERCENTILE, NO_CLIENT_VERDICT, ForeignMeasurement, ForeignSample
from orchestrator.interchange.foreign_values import MS_PER_S, Row, at, number, sample, text, unread, whole

NAMES = {"ttft": "ttft_s", "tpot": "tpot_s", "itl": "chunk_gap_s", "e2el": "e2e_s"}
PARTS = {"mean": "mean", "median": "p50", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p999"}
READ = (
    *("completed", "failed", "num_prompts", "duration", "request_rate", "max_concurrency", "request_throughput"),
    *("output_throughput", "request_goodput", "ramp_up_strategy"),
    *("total_input_tokens", "total_output_tokens"),
)
ABOUT = (
    *("date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "burstiness", "input_lens"),
    *("output_lens", "total_token_throughput", "ttfts", "itls", "latencies", "start_times", "queue_times"),
    *("generated_texts", "errors", "seatrial"),
)
NOTES = (
    "`itl` is the time between chunks, so it stands as chunk_gap_s; it has no gap per token",
    "its window runs from the first request to the last answer: rates hold the ramp and the drain",
    "TTFT and E2E run from the send; what a request waited in the client is in neither",
    EVERY_PERCENTILE,
    NO_CLIENT_VERDICT,
)


def is_vllm_bench(document: object) -> bool:
    """Say whether a JSON document is such a result."""
    return all(at(document, key) is not None for key in ("completed", "request_throughput", "duration"))


def from_vllm_bench(document: Row) -> ForeignMeasurement:
    """Read one result."""
    users, rate = whole(document, "max_concurrency"), number(document, "request_rate")
    is_closed = rate is None and users is not None
    return ForeignMeasurement(
        tool="vllm-bench",
        tool_version=None,
        mode=None if rate is None and users is None else "closed" if is_closed else "open",
        offered_rps=rate,
        users=users if is_closed else None,
        num_issued=whole(document, "num_prompts"),
        num_completed=whole(document, "completed"),
        num_failed=whole(document, "failed"),
        window_s=number(document, "duration"),
        requests_per_s=number(document, "request_throughput"),
        output_tokens_per_s=number(document, "output_throughput"),
        goodput_rps=number(document, "request_goodput"),
        input_tokens=_lengths(document, "total_input_tokens"),
        output_tokens=_lengths(document, "total_output_tokens"),
        notes=(*NOTES, *_caveats(document, is_capped=users is not None and rate is not None)),
        not_understood=unread(document, (*READ, *ABOUT, *_names())),
        **{field: _statistics(document, name) for name, field in NAMES.items()},
    )


def _names() -> Iterator[str]:
    """Name the statistics that are read, and those that have no place in a measurement."""
    for name in NAMES:
        yield from (f"{part}_{name}_ms" for part in (*PARTS, "std"))


def _statistics(document: Row, name: str) -> ForeignSample | None:
    if not number(document, "completed"):
        return None
    parts: dict[str, float | None] = {}
    for word, part in PARTS.items():
        value = number(document, f"{word}_{name}_ms")
        parts[part] = value if value is not None else parts.get(part)
    is_of_requests = name in {"ttft", "e2el"}
    return sample(parts, whole(document, "completed") if is_of_requests else None, scale=MS_PER_S)


def _lengths(document: Row, total: str) -> ForeignSample | None:
    """Return the mean length, the only figure that a sum and a count give."""
    tokens, completed = number(document, total), whole(document, "completed")
    return sample({"mean": tokens / completed}, completed) if tokens is not None and completed else None


def _caveats(document: Row, *, is_capped: bool) -> Iterator[str]:
    if is_capped:
        yield "--max-concurrency held requests back, so the offered rate is an upper bound"
    if text(document, "ramp_up_strategy") is not None:
        yield "the rate was ramped up over the run, so the offered rate is where it ended"
    if number(document, "completed") == 0:
        yield "no request completed, so its statistics are zeros that mean nothing and were left out"
