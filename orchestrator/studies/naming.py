"""Names of studies: a new one by name and time, the one to resume by the digest of what it measures."""

import datetime

from orchestrator.domain.clock import Clock
from orchestrator.domain.study import StudySpec
from orchestrator.tracking.journal import list_studies, read_journal
from orchestrator.tracking.store import Store
from orchestrator.tracking.study import record_of


def new_study_id(study: StudySpec, clock: Clock) -> str:
    """Name a new study: its name and the time in UTC, so that ids sort by age."""
    return f"{study.name}-{datetime.datetime.fromtimestamp(clock.wall_s(), datetime.UTC):%Y%m%d-%H%M%S}"


def find_study(store: Store, study: StudySpec) -> str | None:
    """Find the latest study of a store that measures the same; None where there is none.

    Name and budget may differ: they change no figure.

    Raises:
        TrackingError: a journal of that name is damaged.
    """
    named = [study_id for study_id in list_studies(store) if study_id.startswith(f"{study.name}-")]
    for study_id in reversed(named):
        if record_of(study_id, read_journal(store, study_id)).digest == study.digest:
            return study_id
    return None
