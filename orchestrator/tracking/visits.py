"""A replay of a stranger's server as MLflow runs: a parent that says what was asked, one run that holds the curve."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.errors import TrackingError
from orchestrator.domain.measurement import Measurement
from orchestrator.tracking.opening import connect, tracking_uri
from orchestrator.tracking.operations import EndRun, LogMetrics, LogText, OpenRun, Operation, SetTags
from orchestrator.tracking.redact import redact
from orchestrator.tracking.runs import MAX_VALUE_CHARS, points_of, to_ms
from orchestrator.tracking.spool import RefusedError, UnreachableError
from orchestrator.tracking.store import Store

EXPERIMENT = "seatrial replay"


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """What a replay leaves: its id, its server, what was asked, and one measurement a load, in order."""

    replay_id: str
    url: str
    server: str
    model: str
    asked: Mapping[str, object]
    measurements: Sequence[Measurement]
    ended_at: str


def record_replay(store: Store, record: ReplayRecord, *, uri: str | None = None) -> None:
    """Write a replay to MLflow: to `uri`, else `MLFLOW_TRACKING_URI`, else a database in the store.

    Raises:
        TrackingError: MLflow does not answer, or refuses.
    """
    try:
        sink = connect(store, tracking_uri(store, uri))
        for operation in operations_of_replay(record):
            sink.apply(operation)
    except (UnreachableError, RefusedError) as error:
        raise TrackingError(f"the replay was measured and not recorded: {error}") from error


def operations_of_replay(record: ReplayRecord) -> tuple[Operation, ...]:
    """Say what a replay means for the tracker; the same record always gives the same operations."""
    parent, child = record.replay_id, f"{record.replay_id}/loads"
    began_ms, ended_ms = to_ms(record.measurements[0].started_at), to_ms(record.ended_at)
    tags = _tags(record)
    asked = {key: _spell(value) for key, value in redact(dict(record.asked)).items() if value is not None}
    long = {key: text for key, text in asked.items() if len(text) > MAX_VALUE_CHARS}
    return (
        OpenRun(
            run=parent,
            experiment=EXPERIMENT,
            name=f"replay {record.model}",
            parent=None,
            start_ms=began_ms,
            tags=tags,
            params=asked | {key: f"see artifact values/{key}.txt" for key in long},
        ),
        OpenRun(run=child, experiment=EXPERIMENT, name=record.server, parent=parent, start_ms=began_ms, tags=tags),
        *(LogText(run=parent, path=f"values/{key}.txt", text=text) for key, text in long.items()),
        *(one for measurement in record.measurements for one in _load(child, measurement)),
        EndRun(run=child, status="FINISHED", end_ms=ended_ms),
        EndRun(run=parent, status="FINISHED", end_ms=ended_ms),
    )


def _tags(record: ReplayRecord) -> dict[str, str]:
    first = record.measurements[0]
    tags = {
        "seatrial.kind": "replay",
        "url": record.url,
        "server": record.server,
        "model": record.model,
        "simulated": str(first.is_simulated).lower(),
        "cache.policy": first.cache.policy,
        "workload.content": first.content,
    }
    return {key: str(value) for key, value in redact(tags).items()}


def _load(run: str, one: Measurement) -> tuple[Operation, ...]:
    prefix = f"load.{one.step}"
    tags = {
        f"{prefix}.schedule_digest": one.schedule_digest,
        f"{prefix}.client_verdict": one.fidelity.verdict.value,
        f"{prefix}.measurement_digest": one.digest,
    }
    if one.fidelity.reasons:
        tags[f"{prefix}.client_reasons"] = "; ".join(one.fidelity.reasons)
    return (
        LogMetrics(run=run, points=points_of(one)),
        SetTags(run=run, tags=tags),
        LogText(run=run, path=f"measurements/load-{one.step}.json", text=one.to_json()),
    )


def _spell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
