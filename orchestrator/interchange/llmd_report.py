"""A measurement as llm-d's benchmark report, schema 0.2: aggregates of one run, no requests.

Source: llm-d-benchmark, `benchmark-report/llmd_benchmark_report/schema_v0_2.py`. A percentile that is withheld is left
out there too. Prefix hits and KV-cache use, which are shares here, are per cent there.
"""

import datetime
import uuid

from orchestrator.domain.distribution import Distribution
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import RequestFailure
from orchestrator.interchange.issued import origin

VERSION = "0.2"
PARTS = {"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99p9"}
PERCENT = 100
Content = dict[str, object]


def to_llmd_report(measurement: Measurement, *, tool_version: str, model: str = "") -> Content:
    """Spell a measurement as one report; equal measurements have equal ids."""
    return {
        "version": VERSION,
        "run": _run(measurement, model),
        **_scenario(measurement, tool_version),
        "results": {
            "request_performance": {
                "aggregate": {
                    "requests": _requests(measurement),
                    "latency": _latency(measurement),
                    "throughput": _throughput(measurement),
                }
            },
            "observability": {
                "components": [{"component_label": "engine", "aggregate": _resources(measurement)}],
                "seatrial": origin(measurement),
            },
        },
    }


def _run(one: Measurement, model: str) -> Content:
    start = datetime.datetime.fromisoformat(one.started_at)
    end = start + datetime.timedelta(seconds=one.warmup_s + one.window_s + one.drain_s)
    return {
        "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"seatrial:{one.digest}:{one.started_at}")),
        "time": {"start": start.isoformat(), "end": end.isoformat(), "duration": f"PT{(end - start).total_seconds()}S"},
        "description": f"seatrial replay of {model or 'a server'}, client {one.fidelity.verdict.value}",
    }


def _scenario(one: Measurement, tool_version: str) -> Content:
    """Describe the load; left out where no request was answered, as the form wants a length."""
    lengths = _length(one.input_tokens)
    if lengths is None:
        return {}
    load: Content = {
        "tool": "seatrial",
        "tool_version": tool_version,
        "parallelism": one.fidelity.workers,
        "source": "random" if one.content == "random" else "sampled",
        "input_seq_len": lengths,
        "output_seq_len": _length(one.output_tokens) if one.stop == "forced" else None,
        "rate_qps": one.offered_rps,
        "concurrency": one.users,
    }
    native: Content = {"config": {"content": one.content, "stop": one.stop, "length_scale": one.length_scale}}
    described = {"metadata": {"cfg_id": one.schedule_digest}, "standardized": _present(load), "native": native}
    return {"scenario": {"load": described}}


def _length(sample: Distribution) -> Content | None:
    return None if sample.mean is None else {"distribution": "other", "value": sample.mean}


def _requests(one: Measurement) -> Content:
    incomplete = one.failures.get(RequestFailure.CANCELLED, 0)
    return _present(
        {
            "total": one.num_issued,
            "failures": one.num_failed - incomplete,
            "incomplete": incomplete,
            "input_length": _statistics(one.input_tokens, "count"),
            "output_length": _statistics(one.output_tokens, "count"),
        }
    )


def _latency(one: Measurement) -> Content:
    return _present(
        {
            "time_to_first_token": _statistics(one.ttft_s, "s"),
            "time_per_output_token": _statistics(one.tpot_s, "s/token"),
            "inter_token_latency": _statistics(one.itl_s, "s/token"),
            "request_latency": _statistics(one.e2e_s, "s"),
        }
    )


def _throughput(one: Measurement) -> Content:
    return {
        "output_token_rate": {"units": "tokens/s", "mean": one.output_tokens_per_s},
        "request_rate": {"units": "queries/s", "mean": one.requests_per_s},
    }


def _resources(one: Measurement) -> Content:
    seen = one.resources
    return _present(
        {
            "kv_cache_usage": _mean_and_peak(
                seen.kv_cache_utilization_mean, seen.kv_cache_utilization_peak, "percent", scale=PERCENT
            ),
            "cache_hit_rate": _mean_and_peak(one.cache.hit_ratio, None, "percent", scale=PERCENT),
            "gpu_utilization": _mean_and_peak(seen.device_utilization_mean, None, "percent", scale=PERCENT),
            "running_requests": _mean_and_peak(seen.requests_running_mean, seen.requests_running_peak, "count"),
            "waiting_requests": _mean_and_peak(seen.requests_waiting_mean, seen.requests_waiting_peak, "count"),
        }
    )


def _statistics(sample: Distribution, units: str) -> Content | None:
    if sample.mean is None:
        return None
    parts = {name: getattr(sample, part) for part, name in PARTS.items()}
    return {"units": units, "mean": sample.mean, **_present(parts)}


def _mean_and_peak(mean: float | None, peak: float | None, units: str, *, scale: float = 1.0) -> Content | None:
    if mean is None:
        return None
    return {"units": units, "mean": mean * scale, **({} if peak is None else {"max": peak * scale})}


def _present(values: Content) -> Content:
    return {key: value for key, value in values.items() if value is not None}
