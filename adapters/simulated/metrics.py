"""The simulated engine's `/metrics`: its series, what each means in the project's words, and their text."""

from collections.abc import Iterator
from itertools import accumulate

from adapters.simulated.engine import TTFT_BUCKETS_S, Engine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(engine: Engine) -> bytes:
    """Spell the engine's state in the Prometheus text format."""
    return ("\n".join(_lines(engine)) + "\n").encode()


def _lines(engine: Engine) -> Iterator[str]:
    yield from _series("requests_running", "gauge", len(engine.running))
    yield from _series("requests_waiting", "gauge", len(engine.waiting))
    yield from _series("kv_cache_utilization_ratio", "gauge", engine.kv_cache_utilization())
    yield from _series("prompt_tokens_total", "counter", engine.input_tokens)
    yield from _series("generation_tokens_total", "counter", engine.output_tokens)
    yield from _series("prefix_cache_queries_total", "counter", engine.prefix_query_tokens)
    yield from _series("prefix_cache_hits_total", "counter", engine.prefix_hit_tokens)
    yield from _histogram(engine)


def _series(name: str, kind: str, value: float) -> Iterator[str]:
    yield f"# TYPE simulated_{name} {kind}"
    yield f"simulated_{name} {value!r}"


def _histogram(engine: Engine) -> Iterator[str]:
    name = "simulated_time_to_first_token_seconds"
    yield f"# TYPE {name} histogram"
    bounds = [*(repr(bound) for bound in TTFT_BUCKETS_S), "+Inf"]
    for bound, total in zip(bounds, accumulate(engine.ttft_buckets), strict=True):
        yield f'{name}_bucket{{le="{bound}"}} {total}'
    yield f"{name}_sum {engine.ttft_sum_s!r}"
    yield f"{name}_count {sum(engine.ttft_buckets)}"
