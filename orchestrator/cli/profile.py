"""`seatrial profile`: what the traffic of a trace looks like."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_json, emit_table, say
from workloads.profile import profile_trace
from workloads.readers import read_trace

app = typer.Typer()


@app.command()
def profile(
    trace: Annotated[Path, typer.Argument(help="A trace: Azure 2023 CSV, BurstGPT CSV or Mooncake JSONL.")],
    *,
    format_name: Annotated[
        str | None, typer.Option("--format", help="The trace's format; recognised where left out.")
    ] = None,
    json: Json = False,
) -> None:
    """Print a trace's length and arrival statistics; what was dropped is counted."""
    read = read_trace(trace, format=format_name)
    say(f"{trace}: read as {read.facts.format}")
    found = profile_trace(read).model_dump(mode="json")
    if json:
        emit_json(found)
        return
    emit_table(f"profile of {trace.name}", ("trait", "seen"), sorted(_flatten(found).items()))


def _flatten(value: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, one in value.items():
        name = f"{prefix}{key}"
        flat |= _flatten(one, f"{name}.") if isinstance(one, dict) else {name: one}
    return flat
