"""`seatrial engines`: which engines there are, what each lacks here, and how to install one."""

from typing import Annotated, Any

import typer

from adapters import registry
from adapters.protocol import EngineAdapter
from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_json, emit_table, say
from orchestrator.domain.errors import InputError
from orchestrator.domain.study import EngineChoice
from orchestrator.environments import MissingEnvironmentError, find_environment, install, installed_environments
from orchestrator.environments.installing import choose_build
from orchestrator.telemetry.hardware import read_hardware

app = typer.Typer(help="Engines: list them, install one, check one.", no_args_is_help=True)

Version = Annotated[str | None, typer.Option("--version", help="Another version than the one that Seatrial pins.")]


def facts_of(name: str, version: str | None = None) -> dict[str, Any]:
    """Say of one engine: versions installed, which would be used, hardware, licence, what is missing."""
    adapter = _adapter(name)
    environment = adapter.environment
    found, missing = None, None
    try:
        found = find_environment(adapter, EngineChoice(name=name, version=version))
    except MissingEnvironmentError as error:
        missing = error
    return {
        "name": name,
        "installed": found is not None,
        "version": found.version if found is not None else None,
        "verified": found.is_verified if found is not None else None,
        "all_versions": [one.stamp.version for one in installed_environments(name)],
        "hardware": environment.hardware,
        "licence": environment.licence,
        "simulated": adapter.capabilities.is_simulated,
        "tried": environment.is_tried,
        "lacks": lacks_of(adapter),
        "to_install": missing.command if missing is not None else None,
    }


def lacks_of(adapter: EngineAdapter) -> str | None:
    """Say in one line which hardware an engine lacks here; None where it lacks none."""
    builds = adapter.environment.builds
    if not builds or any(one.needs == "cpu" for one in builds) or read_hardware().has_cuda:
        return None
    return f"{adapter.name} needs a CUDA GPU, and this machine shows none"


def _adapter(name: str) -> EngineAdapter:
    try:
        return registry.get(name)
    except (registry.UnknownEngineError, registry.DuplicateEngineError) as error:
        raise InputError(str(error)) from error


def _names() -> list[str]:
    try:
        return registry.names()
    except registry.DuplicateEngineError as error:
        raise InputError(str(error)) from error


@app.command("list")
def list_engines(*, json: Json = False) -> None:
    """List every engine with what it needs."""
    rows = [facts_of(name) for name in _names()]
    if json:
        emit_json(rows)
        return
    shown = ("name", "installed", "version", "verified", "hardware", "licence", "tried", "to_install")
    emit_table("engines", shown, [[row[key] for key in shown] for row in rows])


@app.command("install")
def install_engine(name: str, *, version: Version = None, json: Json = False) -> None:
    """Make an engine's own environment from pinned packages, once; an interrupted install goes on."""
    adapter = _adapter(name)
    hardware = read_hardware()
    build = choose_build(adapter, hardware)
    if build.needs == "cuda" and not hardware.has_cuda:
        say(f"{name} needs a CUDA GPU, and this machine shows none: it will be installed and cannot run here")
    interpreter = install(adapter, hardware, version=version, say=say)
    row = {"name": name, "version": version or build.version, "interpreter": str(interpreter)}
    if json:
        emit_json(row)
        return
    emit_table(f"engine {name}", ("what", "seen"), list(row.items()))


@app.command("check")
def check(name: str, *, version: Version = None, json: Json = False) -> None:
    """Say whether an engine can run here; exit 2 with what is missing where it cannot."""
    row = facts_of(name, version)
    if row["lacks"] is not None:
        raise InputError(row["lacks"])
    if not row["installed"]:
        what = f"{name} {version}" if version is not None else name
        raise InputError(f"engine {what} is not installed here; to install it: {row['to_install']}")
    if json:
        emit_json(row)
        return
    emit_table(f"engine {name}", ("what", "seen"), list(row.items()))
