"""A measurement and its records as GuideLLM's `benchmarks.json`, report version 2.

Its words, not ours: `inter_token_latency_ms` is our TPOT, `time_per_output_token_ms` spreads the whole latency over
the tokens, the first among them, and both count by tokens; `request_latency` ends with the stream. Its statistics are
of the sample, whatever its size. Source: GuideLLM 0.8.1, `benchmark/schemas/` and `schemas/base/request_stats.py`.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.interchange.guidellm_metrics import metrics
from orchestrator.interchange.guidellm_requests import Epoch, request_stats, status_of
from orchestrator.interchange.issued import issued, origin, prompt_tokens

VERSION = 2
STATUSES = ("successful", "incomplete", "errored")
Content = dict[str, object]


def to_guidellm(
    measurement: Measurement, log: ReplayLog, *, model: str = "", url: str = "", guidellm_version: str = "0.8.1"
) -> Content:
    """Spell a measurement as a report of one benchmark.

    Times of day are the start of the measurement's preparation plus the client's own clock, so all are early by what
    preparing took; spans between them are exact.

    Raises:
        InputError: the records are of another measurement.
    """
    requests, asked = issued(measurement, log), {"model": model, "target": url}
    return {
        "metadata": {
            "version": VERSION,
            "guidellm_version": guidellm_version,
            "python_version": "",
            "platform": "",
        },
        "config": {
            "metadata": {"labels": {"seatrial": measurement.digest}},
            "spec": {"backend": _backend(asked), "profile": _profile(measurement), "data": [_data(requests)]},
        },
        "benchmarks": [_benchmark(measurement, log, requests, asked=asked)],
        "conclusions": [{"seatrial": origin(measurement)}],
    }


def _benchmark(
    measurement: Measurement, log: ReplayLog, requests: Sequence[RequestRecord], *, asked: Mapping[str, str]
) -> Content:
    epoch = Epoch.of(measurement, log)
    grouped = {status: [one for one in requests if status_of(one) == status] for status in STATUSES}
    counts = {**{status: len(ones) for status, ones in grouped.items()}, "total": len(requests)}
    start_s, end_s = epoch.at(log.window.start_ns), epoch.at(log.window.end_ns)
    return {
        "type_": "generative_benchmark",
        "config": _config(measurement, asked),
        "scheduler_state": {
            "num_processes": measurement.fidelity.workers,
            "start_time": epoch.at(log.started_ns),
            "end_time": epoch.at(log.drained_ns),
            "created_requests": len(requests),
            "processed_requests": len(requests),
            "successful_requests": counts["successful"],
            "errored_requests": counts["errored"],
            "cancelled_requests": counts["incomplete"],
        },
        "scheduler_metrics": _scheduler(requests, counts, log, epoch),
        "metrics": {"request_totals": counts, **metrics(requests, epoch, start_s=start_s, end_s=end_s)},
        "requests": {
            **{status: [request_stats(one, epoch) for one in ones] for status, ones in grouped.items()},
            "total": None,
        },
        "start_time": start_s,
        "end_time": end_s,
        "duration": measurement.window_s,
        "warmup_duration": measurement.warmup_s,
        "cooldown_duration": measurement.drain_s,
    }


def _config(one: Measurement, asked: Mapping[str, str]) -> Content:
    is_open = one.users is None
    return {
        "run_id": one.digest,
        "run_index": 0,
        "strategy": {"type_": "trace"} if is_open else {"type_": "concurrent", "streams": one.users},
        "constraints": {},
        "profile": _profile(one),
        "requests": {"content": one.content, "stop": one.stop, "schedule": one.schedule_digest},
        "backend": _backend(asked),
        "environment": {},
    }


def _profile(one: Measurement) -> Content:
    """Say how requests came: at the times of a schedule, which is a replay there, or from users."""
    return {"kind": "replay"} if one.users is None else {"kind": "concurrent", "streams": [one.users]}


def _data(requests: Sequence[RequestRecord]) -> Content:
    """List what was asked: seconds after the first, lengths in tokens; a length that nobody knows is left out."""
    start_ns = requests[0].intended_ns if requests else 0
    rows = [
        {
            "timestamp": (one.intended_ns - start_ns) / NS_PER_S,
            "input_length": prompt_tokens(one),
            "output_length": one.output_tokens_asked,
        }
        for one in requests
    ]
    known = [{key: value for key, value in row.items() if value is not None} for row in rows]
    return {"kind": "trace_synthetic", "source": {"kind": "in_memory_dict_list", "data": known}}


def _backend(asked: Mapping[str, str]) -> Content:
    return {"kind": "openai_http", **asked}


def _scheduler(requests: Sequence[RequestRecord], counts: Mapping[str, int], log: ReplayLog, epoch: Epoch) -> Content:
    """Spell the client's own delays: a request is queued at its intended time and dequeued when it is dispatched."""
    sent = [(one, one.sent_ns) for one in requests if one.sent_ns is not None]
    queued_s = _mean([one.dispatched_ns - one.intended_ns for one in requests])
    starting_s = _mean([at - one.dispatched_ns for one, at in sent])
    lasted_s = _mean([one.end_ns - at for one, at in sent])
    return {
        "start_time": epoch.at(log.started_ns),
        "request_start_time": epoch.at(min((at for _, at in sent), default=log.window.start_ns)),
        "measure_start_time": epoch.at(log.window.start_ns),
        "measure_end_time": epoch.at(log.window.end_ns),
        "request_end_time": epoch.at(max((one.end_ns for one in requests), default=log.window.end_ns)),
        "end_time": epoch.at(log.drained_ns),
        "requests_made": counts,
        "queued_time_avg": queued_s,
        "resolve_start_delay_avg": NONE,
        "resolve_targeted_start_delay_avg": queued_s,
        "request_start_delay_avg": starting_s,
        "request_targeted_start_delay_avg": _mean([at - one.intended_ns for one, at in sent]),
        "request_time_avg": lasted_s,
        "resolve_end_delay_avg": NONE,
        "resolve_time_avg": _mean([one.end_ns - one.dispatched_ns for one in requests]),
        "finalized_delay_avg": NONE,
        "processed_delay_avg": NONE,
        "strategy_type": "",
    }


NONE = -1.0  # what GuideLLM writes where it has no value


def _mean(spans_ns: Sequence[int]) -> float:
    return fmean(spans_ns) / NS_PER_S if spans_ns else NONE
