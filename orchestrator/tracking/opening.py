"""Opens a study's record for writing, begun or resumed, and catches a tracker up with a study that has ended."""

import datetime
import os
from collections.abc import Mapping

import yaml

from orchestrator.domain.clock import Clock
from orchestrator.domain.errors import InputError
from orchestrator.domain.study import StudySpec
from orchestrator.tracking.events import StudyOpened
from orchestrator.tracking.journal import Journal, open_journal, read_journal
from orchestrator.tracking.lease import Lease
from orchestrator.tracking.owner import this_owner
from orchestrator.tracking.projection import Attachments, Projection
from orchestrator.tracking.spool import Sink, UnreachableError
from orchestrator.tracking.store import Store
from orchestrator.tracking.tracker import Tracker, redacted

SETTLE_S = 60.0
TRACKING_URI = "MLFLOW_TRACKING_URI"


def tracking_uri(store: Store, asked: str | None = None, *, environ: Mapping[str, str] = os.environ) -> str | None:
    """Choose the tracker: what was asked for, else `MLFLOW_TRACKING_URI`, else a database in a local store.

    None where the store is not local: a database cannot live there, so operations wait until a tracker is named.
    """
    chosen = asked or environ.get(TRACKING_URI) or None
    if chosen is not None or store.root is None:
        return chosen
    return f"sqlite:///{store.root / 'mlflow.db'}"


def connect(store: Store, uri: str | None) -> Sink:
    """Connect to a tracker; imports MLflow, which takes seconds, so it is called off the driver's thread.

    Raises:
        UnreachableError: no tracker is named, or it does not answer.
    """
    if uri is None:
        raise UnreachableError("no tracker is named and the store is not local; give --tracking-uri to catch up")
    from orchestrator.tracking.mlflow import MlflowSink  # noqa: PLC0415 - MLflow takes seconds to import

    return MlflowSink(store, uri)


def open_tracker(  # noqa: PLR0913 - a study's whole record, named
    store: Store,
    study: StudySpec,
    *,
    study_id: str,
    versions: Mapping[str, str],
    tags: Mapping[str, str],
    clock: Clock,
    attachments: Attachments | None = None,
    uri: str | None = None,
    resume: bool = False,
    job: str | None = None,
) -> Tracker:
    """Take a study's lease, open its journal, and begin or continue its record.

    `versions` and `tags` say what must be equal for a fair comparison (engine builds, hardware, weights); `uri` names
    the tracker (see `tracking_uri`); `job` is the submitted job that this driver is.

    Raises:
        InputError: the study is there already and `resume` is not set, or the one to resume is another study.
        TrackingError: another driver holds it, its journal is damaged, or the store cannot be written.
    """
    lease = Lease(store, study_id, owner=this_owner(job=job), clock=clock)
    lease.take()
    lease.keep()
    try:
        now = datetime.datetime.fromtimestamp(clock.wall_s(), datetime.UTC).isoformat()
        journal = open_journal(store, study_id, at=now)
        _check_same(journal, study, study_id=study_id, resume=resume)
        store.put(f"studies/{study_id}/study.yaml", _yaml(redacted(study)))
        projection = _projection(store, study_id, uri=uri, clock=clock, attachments=attachments)
    except BaseException:
        lease.close()
        raise
    for event in journal.past.events:
        projection.tell(event)
    tracker = Tracker(study_id, journal=journal, lease=lease, projection=projection, clock=clock)
    tracker.begin(study, versions=versions, tags=tags)
    # MLflow's import and its new database keep a core busy for seconds: they must not fall into a measurement.
    projection.settle(SETTLE_S)
    return tracker


def catch_up(
    store: Store, study_id: str, *, clock: Clock, uri: str | None = None, attachments: Attachments | None = None
) -> tuple[str, ...]:
    """Tell the tracker what it was not told, of a study that nobody drives now; return what is still left.

    Raises:
        TrackingError: there is no such study, or a living driver holds it.
    """
    with Lease(store, study_id, owner=this_owner(), clock=clock):
        events = read_journal(store, study_id).events
        projection = _projection(store, study_id, uri=uri, clock=clock, attachments=attachments)
        for event in events:
            projection.tell(event)
        return projection.close()


def _projection(
    store: Store, study_id: str, *, uri: str | None, clock: Clock, attachments: Attachments | None
) -> Projection:
    chosen = tracking_uri(store, uri)
    return Projection(
        store,
        study_id,
        connect=lambda: connect(store, chosen),
        clock=clock,
        attachments=attachments or Attachments(),
    )


def _check_same(journal: Journal, study: StudySpec, *, study_id: str, resume: bool) -> None:
    openings = [event for event in journal.past.events if isinstance(event, StudyOpened)]
    if openings and not resume:
        raise InputError(f"study {study_id} is there already; continue it with --resume, or give another name")
    if resume and not openings:
        raise InputError(f"study {study_id} is not in this store; run it without --resume")
    if openings and openings[-1].digest != study.digest:
        raise InputError(
            f"study {study_id} began as {openings[-1].digest} and is now {study.digest}: something that may change a "
            "figure has changed (only the budget may); give the changed study another name"
        )


def _yaml(spec: StudySpec) -> bytes:
    return yaml.safe_dump(spec.model_dump(mode="json"), sort_keys=False, allow_unicode=True).encode()
