"""`seatrial run`: carry a study through, or on from where it was left."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import DEFAULT_STORE, Json, Store, TrackingUri
from orchestrator.cli.output import emit_json, emit_text, say
from orchestrator.cli.progress import ProgressTable
from orchestrator.cli.recording import attachments_of, check_store, trial_folder
from orchestrator.cli.runners import choose_runner
from orchestrator.cluster.jobs import submission_id
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.study import StudySpec
from orchestrator.report.markdown import to_markdown
from orchestrator.report.summary import study_summary
from orchestrator.studies.candidates import Candidate, candidates_of
from orchestrator.studies.client_limits import calibrate_client, refuse_overload
from orchestrator.studies.client_limits import to_tag as calibration_tag
from orchestrator.studies.conditions import conditions_of, versions_of
from orchestrator.studies.fairness import conditions_by_candidate, difference_text, refuse_unfair, to_tag
from orchestrator.studies.naming import find_study, new_study_id
from orchestrator.studies.reading import read_study
from orchestrator.studies.sweep import Observers, run_sweep
from orchestrator.telemetry.hardware import host_facts, read_hardware
from orchestrator.tracking.opening import open_tracker, tracking_uri
from orchestrator.tracking.store import Store as StoreLike
from orchestrator.tracking.store import open_store
from orchestrator.tracking.study import read_study as read_record
from orchestrator.tracking.tracker import Tracker

app = typer.Typer()

Address = Annotated[
    str | None, typer.Option("--address", envvar="RAY_ADDRESS", help="A Ray cluster; left out: one is started here.")
]


@app.command()
def run(
    study: Annotated[str, typer.Argument(help="A study's YAML file, or the name of a published study.")],
    *,
    store: Store = DEFAULT_STORE,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the latest run of this study was left.")
    ] = False,
    tracking: TrackingUri = None,
    address: Address = None,
    calibrate: Annotated[
        bool, typer.Option(help="Measure the client itself first, and refuse loads that it cannot carry.")
    ] = True,
    json: Json = False,
) -> None:
    """Run a study: search an engine's settings, measure each at its loads, record everything."""
    spec = read_study(study)
    check_store(store)
    place = open_store(store)
    candidates = candidates_of(spec, read_hardware())
    host = host_facts()
    conditions = conditions_by_candidate(spec, candidates, host)
    for one in refuse_unfair(spec, conditions):
        say(f"not equal: {difference_text(one)}")
    calibration = _calibrate(spec) if calibrate else None
    tags = {**conditions_of(spec, candidates, host), **to_tag(conditions), **calibration_tag(calibration)}
    study_id = _study_id(place, spec, resume=resume)
    say(f"study {study_id} in {store}")
    with _open(
        place, spec, versions=versions_of(candidates), tags=tags, study_id=study_id, uri=tracking, resume=resume
    ) as tracker:
        try:
            _search(
                tracker,
                spec,
                candidates=candidates,
                folder=trial_folder(place, study_id),
                address=address,
                calibration=calibration,
            )
        except KeyboardInterrupt:
            tracker.finish("interrupted")
            say(f"stopped; to go on: seatrial run {study} --store {store} --resume")
            raise
        tracker.finish()
    for note in tracker.notes:
        say(note)
    record = read_record(place, study_id, evidence=attachments_of(place, study_id, slo=spec.slo).evidence)
    if json:
        emit_json(study_summary(record))
    else:
        emit_text(to_markdown(record))


def _calibrate(spec: StudySpec) -> Calibration:
    """Measure the client, say what came of it, and refuse what it cannot carry before anything is deployed."""
    found = calibrate_client(spec, SystemClock())
    say(str(found))
    refuse_overload(spec, found)
    return found


def _study_id(place: StoreLike, spec: StudySpec, *, resume: bool) -> str:
    if not resume:
        return new_study_id(spec, SystemClock())
    found = find_study(place, spec)
    if found is None:
        say("nothing to resume: no study here measures the same; starting a new one")
        return new_study_id(spec, SystemClock())
    return found


def _open(
    place: StoreLike,
    spec: StudySpec,
    *,
    versions: Mapping[str, str],
    tags: Mapping[str, str],
    study_id: str,
    uri: str | None,
    resume: bool,
) -> Tracker:
    return open_tracker(
        place,
        spec,
        study_id=study_id,
        versions=versions,
        tags=tags,
        clock=SystemClock(),
        attachments=attachments_of(place, study_id, slo=spec.slo, workload=spec.workload),
        uri=tracking_uri(place, uri),
        resume=resume,
        job=submission_id(),
    )


def _search(
    tracker: Tracker,
    spec: StudySpec,
    *,
    candidates: Sequence[Candidate],
    folder: Path,
    address: str | None,
    calibration: Calibration | None,
) -> None:
    clock = SystemClock()
    with ProgressTable() as table, choose_runner(spec, candidates, address=address, clock=clock) as runner:
        run_sweep(
            spec,
            study_id=tracker.study_id,
            candidates=candidates,
            folder=folder,
            runner=runner,
            observer=Observers((tracker, table)),
            clock=clock,
            past=tracker.past,
            calibration=calibration,
        )
