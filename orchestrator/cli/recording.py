"""Where a study's files lie, and what is attached to its runs."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.domain.clock import NS_PER_S, SystemClock
from orchestrator.domain.errors import InputError
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.study_record import TrialEvidence, spans_of
from orchestrator.domain.trial import TrialSpec
from orchestrator.report.plots import trial_plots
from orchestrator.telemetry.files import read_telemetry
from orchestrator.tracking.projection import Attachments
from orchestrator.tracking.store import Store


def check_store(url: str) -> None:
    """Refuse a store inside a submitted job's working directory, which goes away with the job.

    Raises:
        InputError: says what to give instead.
    """
    from orchestrator.cluster.jobs import inside_job, job_working_dir  # noqa: PLC0415 - Ray takes seconds to import

    if "://" in url and urlsplit(url).scheme != "file":
        return
    path = Path(urlsplit(url).path if "://" in url else url).resolve()
    if inside_job() and path.is_relative_to(job_working_dir()):
        raise InputError(
            f"--store {url}: lies in the job's working directory, which is deleted with the job; give a durable path "
            "or an object-store URI, such as --store /shared/seatrial or --store s3://bucket/seatrial"
        )


def trial_folder(store: Store, study_id: str) -> Path:
    """Return the local folder that trials write to: in the store where it is local, else a temporary one."""
    if store.root is not None:
        return store.root / "studies" / study_id / "trials"
    return Path(tempfile.gettempdir()) / "seatrial" / study_id / "trials"


def attachments_of(store: Store, study_id: str) -> Attachments:
    """Say where a study's trials leave their files and how their plots are drawn."""
    folder = trial_folder(store, study_id)
    clock = SystemClock()
    offset_ns = round(clock.wall_s() * NS_PER_S) - clock.now_ns()

    def evidence(trial: TrialSpec, measurements: Sequence[Measurement]) -> TrialEvidence | None:
        path = folder / trial.trial_id / "telemetry.parquet"
        if not path.exists():
            return None
        return TrialEvidence(read_telemetry(path), spans_of(measurements, wall_offset_ns=offset_ns), offset_ns)

    return Attachments(folder=folder, evidence=evidence, plots=trial_plots)
