"""Where a study's files lie, and what is attached to its runs."""

import datetime
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.cli.portrait import draw_workload
from orchestrator.cluster.jobs import inside_job, job_working_dir
from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.errors import InputError
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.slo import Slo
from orchestrator.domain.study_record import LoadSpan, TrialEvidence, load_label
from orchestrator.domain.trial import TrialSpec
from orchestrator.replay.files import read_records
from orchestrator.report.plots import trial_plots
from orchestrator.telemetry.files import read_telemetry
from orchestrator.tracking.projection import Attachments, no_traffic
from orchestrator.tracking.store import Store
from workloads.workload import Workload


def check_store(url: str) -> None:
    """Refuse a store inside a submitted job's working directory, which goes away with the job.

    Raises:
        InputError: says what to give instead.
    """
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


def attachments_of(
    store: Store, study_id: str, *, slo: Slo | None = None, workload: Workload | None = None
) -> Attachments:
    """Say where a study's trials leave their files and how their plots and the workload's are drawn."""
    folder = trial_folder(store, study_id)

    def evidence(trial: TrialSpec, measurements: Sequence[Measurement]) -> TrialEvidence | None:
        return _evidence(store, study_id, folder / trial.trial_id, measurements)

    traffic = no_traffic if workload is None else partial(draw_workload, workload)
    return Attachments(folder=folder, evidence=evidence, plots=partial(trial_plots, slo=slo), traffic=traffic)


def _evidence(store: Store, study_id: str, folder: Path, measurements: Sequence[Measurement]) -> TrialEvidence | None:
    """Read a trial's telemetry and place its loads on it, both on the clock of the machine that measured."""
    with tempfile.TemporaryDirectory() as scratch:
        here = folder if folder.exists() else _fetch(store, f"studies/{study_id}/trials/{folder.name}", Path(scratch))
        telemetry, logs = here / "telemetry.parquet", [(one, here / _records(one)) for one in measurements]
        known = [(one, read_records(path)) for one, path in logs if path.exists()]
        if not telemetry.exists() or not known:
            return None
        spans = tuple(LoadSpan(load_label(one), one.step, log.window.start_ns, log.window.end_ns) for one, log in known)
        first, log = known[0]
        began_ns = round(datetime.datetime.fromisoformat(first.started_at).timestamp() * NS_PER_S)
        return TrialEvidence(read_telemetry(telemetry), spans, began_ns - log.started_ns)


def _records(measurement: Measurement) -> str:
    return f"load-{measurement.step}/requests.parquet"


def _fetch(store: Store, prefix: str, folder: Path) -> Path:
    for key in store.list(prefix):
        if key.endswith(".parquet"):
            path = folder / key.removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(store.get(key))
    return folder
