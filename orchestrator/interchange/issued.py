"""The requests of a measurement's window as other tools see them: times in seconds, failures beside successes."""

from collections.abc import Sequence

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.errors import InputError
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.metrics.window import issued_in


def issued(measurement: Measurement, log: ReplayLog) -> tuple[RequestRecord, ...]:
    """Return the requests that the measurement is of, in order of arrival.

    Raises:
        InputError: the records are of another measurement.
    """
    requests = issued_in(log.records, log.window)
    if len(requests) != measurement.num_issued:
        raise InputError(
            f"the records hold {len(requests)} requests in their window, the measurement {measurement.num_issued}; "
            "give the records that belong to it"
        )
    return requests


def seconds(times_ns: Sequence[int]) -> list[float]:
    """Return times in seconds."""
    return [one / NS_PER_S for one in times_ns]


def prompt_tokens(record: RequestRecord) -> int | None:
    """Return the prompt's length: the server's own count, else the schedule's."""
    return record.input_tokens if record.input_tokens_server is None else record.input_tokens_server


def origin(measurement: Measurement) -> dict[str, object]:
    """Say where figures come from, for a form that takes further keys."""
    return {
        "tool": "seatrial",
        "schema": measurement.schema_,
        "digest": measurement.digest,
        "client_verdict": measurement.fidelity.verdict.value,
        "client_reasons": list(measurement.fidelity.reasons),
        "is_simulated": measurement.is_simulated,
    }
