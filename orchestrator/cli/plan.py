"""`seatrial plan`: the full expansion of a study, without touching a device."""

from typing import Annotated

import typer

from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_json, emit_text
from orchestrator.domain.clock import SystemClock
from orchestrator.studies.candidates import candidates_of
from orchestrator.studies.client_limits import refuse_overload_in_plan
from orchestrator.studies.planning import plan_study
from orchestrator.studies.reading import read_study
from orchestrator.telemetry.hardware import read_hardware

app = typer.Typer()


@app.command()
def plan(
    study: Annotated[str, typer.Argument(help="A study's YAML file, or the name of a published study.")],
    *,
    json: Json = False,
) -> None:
    """Print what a study would do: trials, commands, placement, traffic, time. Starts nothing.

    Where a load may be beyond the client, the client itself is measured, against a server that does nothing.
    """
    spec = read_study(study)
    expansion = plan_study(spec, candidates_of(spec, read_hardware()))
    refuse_overload_in_plan(spec, SystemClock())
    if json:
        emit_json(expansion.to_dict())
    else:
        emit_text(expansion.to_text())
