"""`seatrial engines`: which engines there are and what each lacks here."""

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import typer

from adapters import registry
from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_json, emit_table
from orchestrator.domain.errors import InputError

app = typer.Typer(help="Engines: list them, check one.", no_args_is_help=True)


def facts_of(name: str) -> dict[str, Any]:
    """Say of one engine: installed or not, version, hardware, licence, how to install it."""
    adapter = registry.get(name)
    environment = adapter.environment
    is_installed = environment.module is None or find_spec(environment.module) is not None
    return {
        "name": name,
        "installed": is_installed,
        "version": _version(environment.module) if is_installed else None,
        "hardware": environment.hardware,
        "licence": environment.licence,
        "simulated": adapter.capabilities.is_simulated,
        "to_install": None if is_installed else f"seatrial engines install {name}",
    }


def _version(module: str | None) -> str | None:
    if module is None:
        return version("seatrial")
    try:
        return version(module)
    except PackageNotFoundError:
        return None


@app.command("list")
def list_engines(*, json: Json = False) -> None:
    """List every engine with what it needs."""
    rows = [facts_of(name) for name in registry.names()]
    if json:
        emit_json(rows)
        return
    emit_table("engines", list(rows[0]), [list(row.values()) for row in rows])


@app.command("check")
def check(name: str, *, json: Json = False) -> None:
    """Say whether an engine can run here; exit 2 with the command to install it where it cannot."""
    try:
        row = facts_of(name)
    except registry.UnknownEngineError as error:
        raise InputError(str(error)) from error
    if not row["installed"]:
        raise InputError(f"engine {name} is not installed here: {row['to_install']}")
    if json:
        emit_json(row)
        return
    emit_table(f"engine {name}", ("what", "seen"), list(row.items()))
