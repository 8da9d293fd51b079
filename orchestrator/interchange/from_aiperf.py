"""AIPerf's `profile_export_aiperf.json` in our words. Source: AIPerf 0.13.0, `common/models/export_models.py`.

Each metric names its unit; one in a unit that is not known is not read.
"""

from collections.abc import Iterator, Mapping

from orchestrator.interchange.foreign import EVERY_PERCENTILE, NO_CLIENT_VERDICT, ForeignMeasurement, ForeignSample
from orchestrator.interchange.foreign_values import Row, at, number, sample, text, whole

KNOWN_SCHEMA = "1."
SCALES = {
    "ns": 1e9,
    "us": 1e6,
    "ms": 1e3,
    "sec": 1.0,
    "s": 1.0,
    "tokens": 1.0,
    "requests": 1.0,
    "requests/sec": 1.0,
    "tokens/sec": 1.0,
}
PARTS = {"avg": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
SAMPLES = {
    "ttft_s": "time_to_first_token",
    "tpot_s": "inter_token_latency",
    "chunk_gap_s": "inter_chunk_latency",
    "e2e_s": "request_latency",
    "input_tokens": "input_sequence_length",
    "output_tokens": "output_sequence_length",
}
VALUES = {
    "requests_per_s": "request_throughput",
    "output_tokens_per_s": "output_token_throughput",
    "goodput_rps": "goodput",
    "window_s": "benchmark_duration",
}
NOTES = (
    "`inter_token_latency` is (latency - TTFT) / (tokens - 1) of a request, so it stands as tpot_s",
    "`request_latency` ends with the last response, which may be one without a token",
    "its window runs from the first request to the last answer: rates hold the ramp and the drain",
    EVERY_PERCENTILE,
    NO_CLIENT_VERDICT,
)


def is_aiperf(document: object) -> bool:
    """Say whether a JSON document is such a summary."""
    return at(document, "request_latency", "unit") is not None and at(document, "request_throughput") is not None


def from_aiperf(document: Row) -> ForeignMeasurement:
    """Read one summary."""
    completed, errors = _count(document, "request_count"), _count(document, "error_request_count")
    has_summary = isinstance(at(document, "error_summary"), list) and not at(document, "error_summary")
    failed = 0 if errors is None and has_summary else errors
    known = {name: value for name in VALUES if (value := _value(document, VALUES[name])) is not None}
    return ForeignMeasurement(
        tool="aiperf",
        tool_version=text(document, "aiperf_version"),
        num_issued=None if completed is None or failed is None else completed + failed,
        num_completed=completed,
        num_failed=failed,
        notes=(*NOTES, *_caveats(document)),
        not_understood=tuple(sorted(_unread(document))),
        **known,
        **{field: _sample(document, name) for field, name in SAMPLES.items()},
    )


def _count(document: Row, name: str) -> int | None:
    return whole(document, name, "avg")


def _value(document: Row, name: str) -> float | None:
    value, scale = number(document, name, "avg"), SCALES.get(text(document, name, "unit") or "")
    return None if value is None or scale is None else value / scale


def _sample(document: Row, name: str) -> ForeignSample | None:
    scale = SCALES.get(text(document, name, "unit") or "")
    if scale is None:
        return None
    parts = {part: number(document, name, word) for word, part in PARTS.items()}
    return sample(parts, whole(document, name, "count"), scale=scale)


def _unread(document: Row) -> Iterator[str]:
    read = {*SAMPLES.values(), *VALUES.values(), "request_count", "error_request_count"}
    for name, metric in document.items():
        if isinstance(metric, Mapping) and "unit" in metric:
            unit = metric.get("unit")
            if name not in read:
                yield name
            elif name not in {"request_count", "error_request_count"} and unit not in SCALES:
                yield f"{name} (in {unit})"


def _caveats(document: Row) -> Iterator[str]:
    version = text(document, "schema_version")
    if version is None or not version.startswith(KNOWN_SCHEMA):
        yield f"its schema is {version}, and what is known here is 1.x: figures may mean something else"
    if at(document, "was_cancelled") is True:
        yield "the run was cancelled"
    if at(document, "is_complete") is False:
        yield f"the run is not complete: {text(document, 'incomplete_reason') or 'it does not say why'}"
