"""One request as GuideLLM lists it: its times of day, its token counts, and what follows from them."""

import datetime
from dataclasses import dataclass

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord
from orchestrator.interchange.issued import prompt_tokens

MS_PER_NS = 1e-6
Content = dict[str, object]
STATES = {"successful": "completed", "incomplete": "cancelled", "errored": "errored"}


@dataclass(frozen=True, slots=True)
class Epoch:
    """Turns the client's clock into seconds of the day."""

    began_s: float
    began_ns: int

    @staticmethod
    def of(measurement: Measurement, log: ReplayLog) -> "Epoch":
        """Take the measurement's start for the replay's."""
        return Epoch(datetime.datetime.fromisoformat(measurement.started_at).timestamp(), log.started_ns)

    def at(self, time_ns: int) -> float:
        """Return a time in seconds since the Unix epoch."""
        return self.began_s + (time_ns - self.began_ns) / NS_PER_S


def status_of(record: RequestRecord) -> str:
    """Return the group in which GuideLLM lists a request."""
    if record.failure is None:
        return "successful"
    return "incomplete" if record.failure is RequestFailure.CANCELLED else "errored"


def request_stats(record: RequestRecord, epoch: Epoch) -> Content:
    """Spell one request; texts were not kept."""
    inputs, outputs = prompt_tokens(record), record.output_tokens
    start_ns = record.sent_ns
    return {
        "type_": "generative_request_stats",
        "request_id": str(record.index),
        "info": {
            "request_id": str(record.index),
            "status": STATES[status_of(record)],
            "timings": _timings(record, epoch),
            "error": None if record.failure is None else record.failure_detail or record.failure.value,
        },
        "input_metrics": {
            "text_tokens": inputs,
            "cached_tokens": record.cached_tokens_server,
            "total_tokens": inputs,
        },
        "output_metrics": {"text_tokens": outputs, "total_tokens": outputs},
        "request_start_time": None if start_ns is None else epoch.at(start_ns),
        "request_end_time": epoch.at(record.end_ns),
        "request_latency": None if start_ns is None else (record.end_ns - start_ns) / NS_PER_S,
        "prompt_tokens": inputs,
        "output_tokens": outputs,
        "time_to_first_token_ms": first_token_ms(record),
        "time_per_output_token_ms": per_token_ms(record),
        "inter_token_latency_ms": between_tokens_ms(record),
    }


def first_token_ms(record: RequestRecord) -> float | None:
    """Return the time from send to the first token."""
    if record.sent_ns is None or record.first_ns is None:
        return None
    return (record.first_ns - record.sent_ns) * MS_PER_NS


def per_token_ms(record: RequestRecord) -> float | None:
    """Return the time from send to the last token over the tokens, the first among them."""
    if record.sent_ns is None or record.last_ns is None or not record.output_tokens:
        return None
    return (record.last_ns - record.sent_ns) * MS_PER_NS / record.output_tokens


def between_tokens_ms(record: RequestRecord) -> float | None:
    """Return the time from the first to the last token over the tokens after the first."""
    tokens = record.output_tokens
    if record.first_ns is None or record.last_ns is None or tokens is None or tokens < 2:  # noqa: PLR2004 - a gap has two ends
        return None
    return (record.last_ns - record.first_ns) * MS_PER_NS / (tokens - 1)


def _timings(record: RequestRecord, epoch: Epoch) -> Content:
    times = {
        "targeted_start": record.intended_ns,
        "queued": record.intended_ns,
        "dequeued": record.dispatched_ns,
        "resolve_start": record.dispatched_ns,
        "request_start": record.sent_ns,
        "first_request_iteration": record.first_ns,
        "first_token_iteration": record.first_ns,
        "first_output_token_iteration": record.first_answer_ns,
        "last_token_iteration": record.last_ns,
        "last_request_iteration": record.last_ns,
        "request_end": record.end_ns,
        "resolve_end": record.end_ns,
    }
    spelled: Content = {name: epoch.at(time_ns) for name, time_ns in times.items() if time_ns is not None}
    return spelled | {"request_iterations": len(record.chunk_ns), "token_iterations": len(record.chunk_ns)}
