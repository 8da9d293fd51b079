"""`seatrial plan`: the full expansion of a study, without touching a device."""

from typing import Annotated

import typer

from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_json, emit_text
from orchestrator.models import resolve
from orchestrator.studies.planning import plan_study
from orchestrator.studies.reading import read_study

app = typer.Typer()


@app.command()
def plan(
    study: Annotated[str, typer.Argument(help="A study's YAML file, or the name of a published study.")],
    *,
    json: Json = False,
) -> None:
    """Print what a study would do: trials, commands, placement, traffic, time. Starts nothing."""
    spec = read_study(study)
    model = resolve(spec.model.name, spec.model.variant, path=spec.model.path)
    expansion = plan_study(spec, model)
    if json:
        emit_json(expansion.to_dict())
    else:
        emit_text(expansion.to_text())
