"""The `metrics` of a GuideLLM benchmark: summaries over the requests that ended well."""

from collections.abc import Callable, Sequence

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.records import RequestRecord
from orchestrator.interchange.guidellm_requests import (
    Epoch,
    between_tokens_ms,
    first_token_ms,
    per_token_ms,
)
from orchestrator.interchange.guidellm_summary import Summary, by_status, concurrency, rates, summary
from orchestrator.interchange.issued import prompt_tokens

MS_PER_NS = 1e-6
MODALITIES = {
    "text": ("tokens", "words", "characters"),
    "image": ("tokens", "images", "pixels", "bytes"),
    "video": ("tokens", "frames", "seconds", "bytes"),
    "audio": ("tokens", "samples", "seconds", "bytes"),
    "tool_call": ("tokens", "mixed_tokens", "count"),
}
Read = Callable[[RequestRecord], float | None]


def metrics(requests: Sequence[RequestRecord], epoch: Epoch, *, start_s: float, end_s: float) -> dict[str, object]:
    """Summarise requests as GuideLLM does; what has no counterpart here has a count of 0."""
    done = [one for one in requests if one.failure is None]
    over: dict[str, Summary] = {name: summary(read(one) for one in done) for name, read in PLAIN.items()}
    over |= _by_tokens(done) | _over_time(done, epoch, start_s=start_s, end_s=end_s)
    over |= dict.fromkeys(("time_to_last_round_trip_ms", "avg_round_trip_time_ms"), summary(()))
    return {
        **{name: by_status(one) for name, one in over.items()},
        **{name: dict.fromkeys(parts) for name, parts in MODALITIES.items()},
    }


def _latency_s(record: RequestRecord) -> float | None:
    return None if record.sent_ns is None else (record.end_ns - record.sent_ns) / NS_PER_S


def _first_answer_ms(record: RequestRecord) -> float | None:
    if record.sent_ns is None or record.first_answer_ns is None:
        return None
    return (record.first_answer_ns - record.sent_ns) * MS_PER_NS


def _total_tokens(record: RequestRecord) -> int:
    return (prompt_tokens(record) or 0) + (record.output_tokens or 0)


PLAIN: dict[str, Read] = {
    "request_latency": _latency_s,
    "request_streaming_iterations_count": lambda one: len(one.chunk_ns),
    "prompt_token_count": prompt_tokens,
    "output_token_count": lambda one: one.output_tokens,
    "total_token_count": _total_tokens,
    "time_to_first_token_ms": first_token_ms,
    "time_to_first_output_token_ms": _first_answer_ms,
}


def _by_tokens(done: Sequence[RequestRecord]) -> dict[str, Summary]:
    tokens = [float(one.output_tokens or 0) for one in done]
    rest = [max(0.0, count - 1) for count in tokens]
    chunks = [len(one.chunk_ns) for one in done]
    per_chunk = [count / have if have else None for count, have in zip(tokens, chunks, strict=True)]
    after_first = [count / (have - 1) if have > 1 else None for count, have in zip(rest, chunks, strict=True)]
    return {
        "time_per_output_token_ms": summary(map(per_token_ms, done), tokens),
        "inter_token_latency_ms": summary(map(between_tokens_ms, done), rest),
        "output_tokens_per_iteration": summary(per_chunk, [float(have) for have in chunks]),
        "iter_tokens_per_iteration": summary(after_first, [float(max(0, have - 1)) for have in chunks]),
    }


def _over_time(done: Sequence[RequestRecord], epoch: Epoch, *, start_s: float, end_s: float) -> dict[str, Summary]:
    prompts = [(epoch.at(one.chunk_ns[0]), float(prompt_tokens(one) or 0)) for one in done if one.chunk_ns]
    outputs = [(epoch.at(at), (one.output_tokens or 0) / len(one.chunk_ns)) for one in done for at in one.chunk_ns]
    spans = [(epoch.at(one.sent_ns), epoch.at(one.end_ns)) for one in done if one.sent_ns is not None]
    return {
        "requests_per_second": rates([(at, 1.0) for _, at in spans], start_s, end_s),
        "request_concurrency": concurrency(spans, start_s, end_s),
        "prompt_tokens_per_second": rates(prompts, start_s, end_s),
        "output_tokens_per_second": rates(outputs, start_s, end_s),
        "tokens_per_second": rates([*prompts, *outputs], start_s, end_s),
    }
