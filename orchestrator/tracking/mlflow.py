"""Applies operations to MLflow: study = experiment and parent run, trial = child run. Only this file imports mlflow.

Runs are found by a tag that holds our own id, so a run made before a crash or a timeout is found, not made twice.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import (
    BAD_REQUEST,
    INVALID_PARAMETER_VALUE,
    PERMISSION_DENIED,
    RESOURCE_ALREADY_EXISTS,
    ErrorCode,
)
from sqlalchemy.exc import SQLAlchemyError

from orchestrator.tracking.operations import EndRun, LogFile, LogMetrics, LogText, OpenRun, Operation, SetTags
from orchestrator.tracking.redact import redact_text
from orchestrator.tracking.spool import RefusedError, UnreachableError
from orchestrator.tracking.store import Store

RUN_TAG = "seatrial.run"
_PARENT_TAG = "mlflow.parentRunId"
CURVES_FIRST = {"mlflow.experimentKind": "custom_model_development"}  # its page opens on runs and charts
_METRICS_PER_CALL = 1000
_PAIRS_PER_CALL = 100
_REFUSALS = frozenset(
    ErrorCode.Name(code) for code in (BAD_REQUEST, INVALID_PARAMETER_VALUE, PERMISSION_DENIED, RESOURCE_ALREADY_EXISTS)
)
_LIMITS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
}
_T = TypeVar("_T")


class MlflowSink:
    """One study's MLflow: a tracking URI, and the store that holds the files to attach."""

    def __init__(self, store: Store, uri: str) -> None:
        # A dead server must fail soon: MLflow's own patience is minutes. What a person has set stands.
        for name, value in _LIMITS.items():
            os.environ.setdefault(name, value)
        self._store = store
        self._uri = uri
        self._runs: dict[str, str] = {}
        self._experiments: dict[str, str] = {}
        try:
            self._client = MlflowClient(tracking_uri=uri)
        except (MlflowException, OSError, SQLAlchemyError) as error:
            raise UnreachableError(f"MLflow at {redact_text(uri)}: {error}") from error

    def apply(self, operation: Operation) -> None:
        """Apply one operation; a second time changes nothing.

        Raises:
            UnreachableError: the server or database does not answer.
            RefusedError: it answered, and will never take this operation.
        """
        try:
            self._apply(operation)
        except MlflowException as error:
            if error.error_code in _REFUSALS:
                raise RefusedError(f"MLflow refused {operation.op} of {operation.run}: {error.message}") from error
            raise UnreachableError(f"MLflow at {redact_text(self._uri)}: {error.message}") from error
        except (OSError, SQLAlchemyError) as error:
            raise UnreachableError(f"MLflow at {redact_text(self._uri)}: {error}") from error

    def _apply(self, operation: Operation) -> None:
        match operation:
            case OpenRun():
                self._open(operation)
            case SetTags(run=run, tags=tags):
                self._log_pairs(run, tags=tags)
            case LogMetrics(run=run, points=points):
                metrics = [Metric(one.name, one.value, one.time_ms, one.step) for one in points]
                for batch in _batches(metrics, _METRICS_PER_CALL):
                    self._client.log_batch(self._run(run), metrics=batch)
            case LogText(run=run, path=path, text=text):
                self._client.log_text(self._run(run), text, path)
            case LogFile():
                self._log_file(operation)
            case EndRun(run=run, status=status, end_ms=end_ms):
                self._client.set_terminated(self._run(run), status, end_ms)

    def _open(self, operation: OpenRun) -> None:
        experiment = self._experiment(operation.experiment)
        found = self._find(operation.run, experiment)
        if found is None:
            tags = {RUN_TAG: operation.run, **operation.tags}
            if operation.parent is not None:
                tags[_PARENT_TAG] = self._run(operation.parent)
            run = self._client.create_run(experiment, operation.start_ms, tags, operation.name)
            found = str(run.info.run_id)
        else:
            self._client.update_run(found, status="RUNNING")
        self._runs[operation.run] = found
        self._log_pairs(operation.run, params=operation.params)

    def _log_pairs(
        self, run: str, *, params: Mapping[str, str] | None = None, tags: Mapping[str, str] | None = None
    ) -> None:
        for batch in _batches([Param(key, value) for key, value in (params or {}).items()], _PAIRS_PER_CALL):
            self._client.log_batch(self._run(run), params=batch)
        for pairs in _batches([RunTag(key, value) for key, value in (tags or {}).items()], _PAIRS_PER_CALL):
            self._client.log_batch(self._run(run), tags=pairs)

    def _log_file(self, operation: LogFile) -> None:
        folder, _, name = operation.path.rpartition("/")
        try:
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch, name)
                path.write_bytes(self._store.get(operation.key))
                self._client.log_artifact(self._run(operation.run), str(path), folder or None)
        except FileNotFoundError as error:
            raise RefusedError(f"{operation.key} is not in the store any more: {error}") from error

    def _run(self, run: str) -> str:
        if run not in self._runs:
            found = self._find(run, *(one.experiment_id for one in self._client.search_experiments()))
            if found is None:
                raise RefusedError(f"MLflow at {redact_text(self._uri)} has no run tagged {RUN_TAG}={run}")
            self._runs[run] = found
        return self._runs[run]

    def _find(self, run: str, *experiments: str) -> str | None:
        found = self._client.search_runs(list(experiments), f"tags.`{RUN_TAG}` = '{run}'", max_results=1)
        return str(found[0].info.run_id) if found else None

    def _experiment(self, name: str) -> str:
        if name not in self._experiments:
            found = self._client.get_experiment_by_name(name)
            known = found.experiment_id if found is not None else None
            self._experiments[name] = known or self._client.create_experiment(
                name, self._artifact_location(name), tags=CURVES_FIRST
            )
        return self._experiments[name]

    def _artifact_location(self, name: str) -> str | None:
        """Place artifacts beside the study; a server keeps them where it chooses, it may not reach our store."""
        return None if self._uri.startswith("http") else self._store.uri(f"artifacts/{name}")


def _batches(values: Sequence[_T], size: int) -> Iterator[list[_T]]:
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch
