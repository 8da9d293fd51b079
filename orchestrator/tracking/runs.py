"""From journal events to runs: which params, tags and metrics say what. Pure; knows no tracker's client."""

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.measurement import Measurement
from orchestrator.domain.study import StudySpec
from orchestrator.metrics.names import flatten
from orchestrator.tracking.events import (
    Event,
    Measured,
    Repaired,
    StudyEnded,
    StudyOpened,
    TrialDeployed,
    TrialEnded,
    TrialStarted,
)
from orchestrator.tracking.operations import EndRun, LogMetrics, LogText, OpenRun, Operation, Point, SetTags
from orchestrator.tracking.redact import redact

MAX_VALUE_CHARS = 6000  # MLflow cuts a longer parameter short with no more than a warning
MS_PER_S = 1000
_MEASURED = frozenset({"completed", "pruned"})


def operations_of(event: Event, opened: StudyOpened) -> tuple[Operation, ...]:
    """Say what one journal event means for the tracker; the same event always gives the same operations."""
    match event:
        case StudyOpened() | StudyEnded() | Repaired():
            return _of_study(event, opened)
        case TrialStarted():
            return _trial(event, opened)
        case TrialDeployed():
            return _tags(event.trial_id, {f"engine.{key}": value for key, value in event.facts.items()})
        case Measured():
            return _measured(event)
        case TrialEnded():
            return _ended(event)


def _of_study(event: StudyOpened | StudyEnded | Repaired, opened: StudyOpened) -> tuple[Operation, ...]:
    match event:
        case StudyOpened():
            return _study(event)
        case StudyEnded():
            return (SetTags(run=opened.study_id, tags={"study.end": event.reason}), _end(opened.study_id, event))
        case Repaired():
            return (SetTags(run=opened.study_id, tags={"journal.repaired_at": event.at}),)


def points_of(measurement: Measurement) -> tuple[Point, ...]:
    """List a measurement's metrics at its offered load; what is missing is left out, nothing becomes 0."""
    time_ms = to_ms(measurement.started_at)
    return tuple(
        Point(name=name, value=value, step=measurement.step, time_ms=time_ms)
        for name, value in sorted(flatten(measurement).items())
    )


def to_ms(at: str) -> int:
    """Turn an ISO 8601 time into milliseconds since the Unix epoch."""
    return round(datetime.datetime.fromisoformat(at).timestamp() * MS_PER_S)


def _study(event: StudyOpened) -> tuple[Operation, ...]:
    values = {f"study.{key}": text for key, text in _flat(redact(event.spec.model_dump(mode="json")))}
    short, texts = _split(event.study_id, values)
    tags = {
        "seatrial.kind": "study",
        "study.id": event.study_id,
        "study.digest": event.digest,
        "model": f"{event.spec.model.name} {event.spec.model.variant}",
        **_shared_tags(event),
    }
    run = OpenRun(
        run=event.study_id,
        experiment=event.study_id,
        name=event.spec.name,
        parent=None,
        start_ms=to_ms(event.at),
        tags={},
        params=short,
    )
    return (run, *texts, *_tags(event.study_id, tags))


def _trial(event: TrialStarted, opened: StudyOpened) -> tuple[Operation, ...]:
    trial = event.trial
    params = {"engine": trial.engine, "candidate": trial.label, "trial": str(trial.number)}
    params |= {f"config.{key}": text for key, text in _flat(redact(trial.config))}
    params |= {f"assignment.{key}": text for key, text in _flat(redact(trial.assignment))}
    short, texts = _split(event.trial_id, params)
    tags = {
        "seatrial.kind": "trial",
        "study.id": opened.study_id,
        "study.digest": trial.study_digest,
        "trial.digest": event.digest,
        "engine": trial.engine,
        "candidate": trial.label,
        "model.weights_sha256": trial.model_sha256,
        **_shared_tags(opened),
    }
    run = OpenRun(
        run=event.trial_id,
        experiment=opened.study_id,
        name=f"{trial.number:03d} {trial.label}" + (" (defaults)" if not trial.assignment else ""),
        parent=opened.study_id,
        start_ms=to_ms(event.at),
        tags={},
        params=short,
    )
    return (run, *texts, *_tags(event.trial_id, tags))


def _measured(event: Measured) -> tuple[Operation, ...]:
    one = event.measurement
    prefix = f"load.{one.step}"
    tags = {
        "simulated": str(one.is_simulated).lower(),
        "cache.policy": one.cache.policy,
        "workload.content": one.content,
        **({"workload.stop": one.stop} if one.stop is not None else {}),
        f"{prefix}.schedule_digest": one.schedule_digest,
        f"{prefix}.client_verdict": one.fidelity.verdict.value,
        f"{prefix}.measurement_digest": one.digest,
    }
    if one.fidelity.reasons:
        tags[f"{prefix}.client_reasons"] = "; ".join(one.fidelity.reasons)
    return (LogMetrics(run=event.trial_id, points=points_of(one)), *_tags(event.trial_id, tags))


def _ended(event: TrialEnded) -> tuple[Operation, ...]:
    ending, times = event.ending, event.times
    tags: dict[str, str] = {"outcome": ending.kind}
    if ending.reason:
        tags["outcome.reason"] = ending.reason
    if ending.failure is not None:
        tags["outcome.failure"] = ending.failure.value
    values = {"trial/wall_s": times.wall_s, "trial/engine_start_s": times.engine_start_s}
    values["trial/overhead_s"] = times.wall_s - times.engine_start_s - times.replay_s
    if ending.score is not None:
        values["trial/score"] = ending.score
    points = tuple(Point(name=name, value=value, step=0, time_ms=to_ms(event.at)) for name, value in values.items())
    return (*_tags(event.trial_id, tags), LogMetrics(run=event.trial_id, points=points), *_log_tail(event))


def _log_tail(event: TrialEnded) -> tuple[Operation, ...]:
    tail = event.ending.log_tail
    return (LogText(run=event.trial_id, path="engine-log-tail.txt", text=tail),) if tail else ()


def end_of_trial(event: TrialEnded) -> EndRun:
    """Close a trial's run; comes after its files, so that a closed run is a whole one."""
    is_measured = event.ending.kind in _MEASURED
    return EndRun(run=event.trial_id, status="FINISHED" if is_measured else "FAILED", end_ms=to_ms(event.at))


def _end(run: str, event: StudyEnded) -> EndRun:
    return EndRun(run=run, status="FINISHED" if event.reason == "finished" else "KILLED", end_ms=to_ms(event.at))


def _shared_tags(opened: StudyOpened) -> dict[str, str]:
    spec = opened.spec
    return {
        **{f"version.{key}": value for key, value in opened.versions.items()},
        **_traffic_tags(spec),
        **opened.tags,
    }


def _traffic_tags(spec: StudySpec) -> dict[str, str]:
    tags = {
        "model.variant": spec.model.variant,
        "workload": json.dumps(redact(spec.workload.model_dump(mode="json")), sort_keys=True),
        "window": json.dumps(spec.window.model_dump(mode="json"), sort_keys=True),
        "cache.policy": str(spec.cache),
        "via": spec.deploy.via,
        "seed": str(spec.seed),
    }
    if spec.slo is not None:
        tags["slo"] = json.dumps(spec.slo.model_dump(mode="json", exclude_none=True), sort_keys=True)
    return tags


def _tags(run: str, values: Mapping[str, str]) -> tuple[Operation, ...]:
    short, texts = _split(run, redact(dict(values)))
    return (SetTags(run=run, tags=short), *texts)


def _split(run: str, values: Mapping[str, str]) -> tuple[dict[str, str], tuple[Operation, ...]]:
    """Part values that fit into a parameter or tag from those that become an artifact."""
    short = {key: text for key, text in values.items() if len(text) <= MAX_VALUE_CHARS}
    long = {key: text for key, text in values.items() if len(text) > MAX_VALUE_CHARS}
    texts = tuple(LogText(run=run, path=f"values/{key}.txt", text=text) for key, text in sorted(long.items()))
    return short | {key: f"see artifact values/{key}.txt" for key in long}, texts


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, one in value.items():
        if isinstance(one, Mapping):
            yield from _flat(one, f"{prefix}{key}.")
        elif one is not None:
            yield f"{prefix}{key}", one if isinstance(one, str) else json.dumps(one, sort_keys=True)
