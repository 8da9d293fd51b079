"""`seatrial calibrate`: what this machine's client can do, before anything is measured with it."""

from typing import Annotated

import typer

from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_text, say
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.errors import InputError
from orchestrator.replay.calibration import MEASURE_S, STUDY_BUDGET_S, calibrate

app = typer.Typer()

THOROUGH_BUDGET_S, THOROUGH_MEASURE_S = 60.0, 2.0


@app.command("calibrate")
def calibrate_here(
    *,
    cpus: Annotated[str | None, typer.Option(help="Cores of the client, such as 0 or 2-3; any where left out.")] = None,
    server_cpus: Annotated[
        str | None, typer.Option(help="Cores of the null server, where an engine would run.")
    ] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Look longer at each rate, up to a minute in all.")
    ] = False,
    json: Json = False,
) -> None:
    """Hold the client against a server that only answers on time: its own error, its highest honest rate."""
    say("calibrating the client; leave the machine alone meanwhile")
    found = calibrate(
        SystemClock(),
        cpus=parse_cpus(cpus),
        engine_cpus=parse_cpus(server_cpus),
        budget_s=THOROUGH_BUDGET_S if thorough else STUDY_BUDGET_S,
        measure_s=THOROUGH_MEASURE_S if thorough else MEASURE_S,
    )
    emit_text(found.model_dump_json(indent=2) if json else str(found))


def parse_cpus(text: str | None) -> tuple[int, ...] | None:
    """Read cores as taskset spells them: numbers and ranges, separated by commas.

    Raises:
        InputError: it is something else.
    """
    if text is None:
        return None
    cores: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise InputError(f"cores: expected numbers and ranges such as 0,2-3, seen {text!r}")
        cores |= set(range(int(first), int(last or first) + 1))
    return tuple(sorted(cores))
