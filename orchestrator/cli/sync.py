"""`seatrial sync`: tell MLflow what it was not told of a study."""

from typing import Annotated

import typer

from orchestrator.cli.options import DEFAULT_STORE, Json, Store, TrackingUri
from orchestrator.cli.output import emit_json, emit_text
from orchestrator.cli.recording import attachments_of
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.errors import TrackingError
from orchestrator.tracking.opening import catch_up, tracking_uri
from orchestrator.tracking.store import open_store
from orchestrator.tracking.study import read_study

app = typer.Typer()


@app.command()
def sync(
    study_id: Annotated[str, typer.Argument(help="A study's id, as `seatrial run` printed it.")],
    *,
    store: Store = DEFAULT_STORE,
    tracking: TrackingUri = None,
    json: Json = False,
) -> None:
    """Deliver to MLflow what waited while it was away; exit 5 where some still waits."""
    place = open_store(store)
    spec = read_study(place, study_id).spec
    left = catch_up(
        place,
        study_id,
        clock=SystemClock(),
        uri=tracking_uri(place, tracking),
        attachments=attachments_of(place, study_id, slo=spec.slo, workload=spec.workload),
    )
    if left:
        raise TrackingError("\n".join(left))
    if json:
        emit_json({"study_id": study_id, "waiting": 0})
    else:
        emit_text(f"study {study_id}: MLflow knows everything")
