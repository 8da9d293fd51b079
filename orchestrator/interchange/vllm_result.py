"""A measurement in the form of `vllm bench serve --save-result`, with records as `--save-detailed` writes it.

Its words, not ours: `itl` is the time between chunks, `e2el` ends with the last chunk, `tpot` leaves out the first
token; a failed request stands with zeros and its error. Source: vLLM 0.32.0, `benchmarks/serve.py` and
`benchmarks/lib/endpoint_request_func.py`.
"""

import datetime
import math
from collections.abc import Sequence

import numpy as np

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.distribution import Distribution
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.interchange.issued import issued, origin, prompt_tokens
from orchestrator.metrics import latency

MS_PER_S = 1000
NAMES = {"ttft": "ttft_s", "tpot": "tpot_s", "itl": "chunk_gap_s", "e2el": "e2e_s"}
PERCENTILES = {"p90": 90, "p95": 95, "p99": 99, "p999": 99.9}


def to_vllm_bench(measurement: Measurement, log: ReplayLog | None = None, *, model: str = "") -> dict[str, object]:
    """Spell a measurement as vLLM's benchmark does.

    With the records, statistics are that tool's own, of the sample, whatever its size. Without them only what the
    measurement carries is there: a percentile that it withholds, or a standard deviation, is left out.

    Raises:
        InputError: the records are of another measurement.
    """
    head = {
        "date": datetime.datetime.fromisoformat(measurement.started_at).strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": "openai",
        "backend": "openai",
        "label": None,
        "model_id": model,
        "tokenizer_id": None,
        "num_prompts": measurement.num_issued,
        "seatrial": origin(measurement),
        "request_rate": "inf" if measurement.offered_rps is None else measurement.offered_rps,
        "burstiness": None,
        "max_concurrency": measurement.users,
        "duration": measurement.window_s,
        "completed": measurement.num_completed,
        "failed": measurement.num_failed,
        "request_throughput": measurement.requests_per_s,
        "request_goodput": measurement.goodput_rps,
        "output_throughput": measurement.output_tokens_per_s,
    }
    if log is None:
        return {**head, **_known(measurement)}
    requests = issued(measurement, log)
    return {**head, **_totals(requests, measurement.window_s), **_detailed(requests), **_statistics(requests)}


def _known(measurement: Measurement) -> dict[str, object]:
    found: dict[str, float | None] = {}
    for name, field in NAMES.items():
        sample: Distribution = getattr(measurement, field)
        found |= {f"mean_{name}_ms": sample.mean, f"median_{name}_ms": sample.p50}
        found |= {f"{_word(level)}_{name}_ms": getattr(sample, part) for part, level in PERCENTILES.items()}
    return {key: value * MS_PER_S for key, value in found.items() if value is not None}


def _totals(requests: Sequence[RequestRecord], window_s: float) -> dict[str, object]:
    done = [one for one in requests if one.failure is None]
    inputs, outputs = sum(prompt_tokens(one) or 0 for one in done), sum(one.output_tokens or 0 for one in done)
    peaks = _peaks(done)
    return {
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
        "total_token_throughput": (inputs + outputs) / window_s,
        "max_output_tokens_per_s": peaks[0],
        "max_concurrent_requests": peaks[1],
    }


def _detailed(requests: Sequence[RequestRecord]) -> dict[str, object]:
    """List one value a request; texts are not kept, so theirs are empty."""
    return {
        "input_lens": [prompt_tokens(one) or 0 for one in requests],
        "output_lens": [one.output_tokens or 0 for one in requests],
        "ttfts": [latency.ttft_s(one) or 0.0 for one in requests],
        "itls": [latency.chunk_gaps_s(one) for one in requests],
        "latencies": [latency.e2e_s(one) or 0.0 for one in requests],
        "start_times": [(one.dispatched_ns if one.sent_ns is None else one.sent_ns) / NS_PER_S for one in requests],
        "queue_times": [
            0.0 if one.sent_ns is None else (one.sent_ns - one.dispatched_ns) / NS_PER_S for one in requests
        ],
        "generated_texts": [""] * len(requests),
        "errors": ["" if one.failure is None else one.failure_detail or one.failure.value for one in requests],
    }


def _statistics(requests: Sequence[RequestRecord]) -> dict[str, object]:
    samples: dict[str, Sequence[float | None]] = {
        "ttft": [latency.ttft_s(one) for one in requests],
        "tpot": [latency.tpot_s(one) for one in requests],
        "itl": [gap for one in requests for gap in latency.chunk_gaps_s(one)],
        "e2el": [latency.e2e_s(one) for one in requests],
    }
    found: dict[str, object] = {}
    for name, sample in samples.items():
        values = np.array([one for one in sample if one is not None]) * MS_PER_S
        if values.size:
            found |= {f"mean_{name}_ms": float(values.mean()), f"median_{name}_ms": float(np.median(values))}
            found[f"std_{name}_ms"] = float(values.std())
            found |= {f"{_word(p)}_{name}_ms": float(np.percentile(values, p)) for p in PERCENTILES.values()}
    return found


def _peaks(done: Sequence[RequestRecord]) -> tuple[float, int]:
    """Return the busiest second's chunks and requests, by whole seconds from the first start, as vLLM counts them."""
    if not done:
        return 0.0, 0
    starts = np.array([one.sent_ns or one.dispatched_ns for one in done])
    ends = np.array([one.chunk_ns[-1] for one in done])
    chunks = (np.concatenate([np.array(one.chunk_ns) for one in done]) - starts.min()) // NS_PER_S
    first, last = (starts - starts.min()) // NS_PER_S, (ends - starts.min()) // NS_PER_S
    changes = np.zeros(int(last.max()) + 2, dtype=int)
    np.add.at(changes, first, 1)
    np.add.at(changes, last + 1, -1)
    return float(np.bincount(chunks).max()), int(np.cumsum(changes).max())


def _word(level: float) -> str:
    return f"p{int(level)}" if math.floor(level) == level else f"p{level}"
