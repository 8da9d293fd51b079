"""Benchmarks of GuideLLM's `benchmarks.json` in our words, one a load.

Source: GuideLLM 0.8.1, `benchmark/schemas/` and `schemas/base/request_stats.py`; report versions 1 and 2 have the same
summaries.
"""

from collections.abc import Iterator, Mapping

from orchestrator.interchange.foreign import EVERY_PERCENTILE, ForeignMeasurement, ForeignSample
from orchestrator.interchange.foreign_values import MS_PER_S, Row, at, number, sample, text, unread, whole

KNOWN_VERSIONS = (1, 2)
PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
OPEN, CLOSED = ("constant", "poisson", "trace"), ("synchronous", "concurrent")
READ = {
    *("request_totals", "requests_per_second", "request_latency", "prompt_token_count", "output_token_count"),
    *("time_to_first_token_ms", "inter_token_latency_ms", "output_tokens_per_second", "slo_attainment"),
}
NOTES = (
    "`inter_token_latency_ms` is of whole requests, weighted by tokens: only its mean, which is ITL's, was taken over",
    "`time_per_output_token_ms` counts the first token in and was left out",
    "`request_latency` ends with the stream, after the last token",
    "requests that ended outside its window are left out, so slow ones are missing",
    EVERY_PERCENTILE,
)


def is_guidellm(document: object) -> bool:
    """Say whether a JSON document is such a report."""
    listed = at(document, "benchmarks")
    return isinstance(listed, list) and all(at(one, "metrics") is not None for one in listed) and bool(listed)


def from_guidellm(document: Row) -> tuple[ForeignMeasurement, ...]:
    """Read each benchmark of a report."""
    listed = at(document, "benchmarks")
    found = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return tuple(_read(one, document) for one in found)


def _read(one: Row, document: Row) -> ForeignMeasurement:
    metrics = at(one, "metrics")
    kind = text(one, "config", "strategy", "type_")
    is_closed, is_open = kind in CLOSED, kind in OPEN
    totals = {name: whole(metrics, "request_totals", name) for name in ("total", "successful", "errored", "incomplete")}
    failed = [totals[name] for name in ("errored", "incomplete")]
    return ForeignMeasurement(
        tool="guidellm",
        tool_version=text(document, "metadata", "guidellm_version"),
        mode="closed" if is_closed else "open" if is_open else None,
        offered_rps=number(one, "config", "strategy", "rate") if is_open else None,
        users=(1 if kind == "synchronous" else whole(one, "config", "strategy", "streams")) if is_closed else None,
        num_issued=totals["total"],
        num_completed=totals["successful"],
        num_failed=None if None in failed else sum(part for part in failed if part is not None),
        window_s=number(one, "duration"),
        requests_per_s=number(metrics, "requests_per_second", "successful", "mean"),
        output_tokens_per_s=number(metrics, "output_tokens_per_second", "successful", "mean"),
        slo_attainment=number(metrics, "slo_attainment"),
        ttft_s=_summary(metrics, "time_to_first_token_ms", scale=MS_PER_S),
        itl_s=_mean_gap(metrics),
        e2e_s=_summary(metrics, "request_latency"),
        input_tokens=_summary(metrics, "prompt_token_count"),
        output_tokens=_summary(metrics, "output_token_count"),
        notes=(*NOTES, *_caveats(one, document)),
        not_understood=unread(metrics, tuple(READ)) if isinstance(metrics, Mapping) else (),
    )


def _summary(metrics: object, name: str, *, scale: float = 1.0) -> ForeignSample | None:
    """Read a summary of the requests that ended well; one with a count of 0 holds zeros that mean nothing."""
    count = whole(metrics, name, "successful", "count")
    if not count:
        return None
    parts = {part: number(metrics, name, "successful", "percentiles", part) for part in PERCENTILES}
    return sample({"mean": number(metrics, name, "successful", "mean"), **parts}, count, scale=scale)


def _mean_gap(metrics: object) -> ForeignSample | None:
    """Return the mean gap between tokens: mean gaps of requests, each weighted by its gaps, average to that of all."""
    found = _summary(metrics, "inter_token_latency_ms", scale=MS_PER_S)
    return None if found is None else ForeignSample(mean=found.mean, count=found.count)


def _caveats(one: Row, document: Row) -> Iterator[str]:
    version = at(document, "metadata", "version")
    if version not in KNOWN_VERSIONS:
        yield f"its report is of version {version}, and what is known here are 1 and 2: figures may mean something else"
    warnings = at(one, "warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        said = text(warning, "message") or text(warning, "note") or text(warning, "code")
        if said is not None:
            yield f"it warns: {said}"
