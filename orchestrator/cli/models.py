"""`seatrial models`: list the known models, fetch weights and make their variants of equal precision."""

from typing import Annotated

import typer

from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_json, emit_table, say
from orchestrator.models import KNOWN, fetch

app = typer.Typer(help="Models: list them, fetch weights.", no_args_is_help=True)


@app.command("list")
def list_models(*, json: Json = False) -> None:
    """List the models that are known by name."""
    rows = [
        {"name": one.name, "what": one.summary, "variants": ", ".join(one.variants), "licence": one.licence}
        for one in KNOWN.values()
    ]
    if json:
        emit_json(rows)
        return
    emit_table("models", list(rows[0]), [list(row.values()) for row in rows])


@app.command("fetch")
def fetch_model(
    name: Annotated[str, typer.Argument(help="A known model such as smollm2-135m, or hf://organisation/name.")],
    *,
    variant: Annotated[
        list[str] | None, typer.Option("--variant", help="Make only this one; may be repeated. Left out: all.")
    ] = None,
    json: Json = False,
) -> None:
    """Fetch a model's weights, check them, make the variants; what is there already is kept."""
    say(f"fetching {name} (what is there already is kept)")
    variants = fetch(name, variants=variant).variants
    if json:
        emit_json([ref.model_dump(mode="json") for ref in variants])
        return
    emit_table(
        f"model {name}",
        ("variant", "format", "precision", "path", "sha256"),
        [(ref.variant, ref.format, ref.weights_precision, ref.path, ref.weights_sha256[:16]) for ref in variants],
    )
