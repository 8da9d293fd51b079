"""`seatrial doctor`: what this machine has and what each engine lacks, in plain words."""

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer

from adapters import registry
from orchestrator.cli.engines import facts_of
from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_facts, emit_json, emit_table
from orchestrator.telemetry.hardware import host_facts, read_hardware

app = typer.Typer()

GIB = 1 << 30
PACKAGES = ("seatrial", "ray", "mlflow", "optuna")


@app.command()
def doctor(*, json: Json = False) -> None:
    """Tell cores, memory, devices, disk, versions, and the engines with what each lacks."""
    machine = _machine()
    engines = [facts_of(name) for name in registry.names()]
    if json:
        emit_json({"machine": machine, "engines": engines})
        return
    emit_facts("machine", machine)
    emit_table("engines", ("engine", "here", "hardware"), [_engine_row(row) for row in engines])


def _machine() -> dict[str, Any]:
    hardware = read_hardware()
    return {
        "cores": hardware.cpu_count,
        "memory_gib": round(hardware.memory_bytes / GIB, 1),
        "gpus": list(hardware.gpu_names) or "none found: engines that need CUDA cannot run here",
        "free_disk_gib": round(shutil.disk_usage(Path.cwd()).free / GIB, 1),
        **host_facts(),
        **{f"{name}_version": version(name) for name in PACKAGES},
    }


def _engine_row(row: dict[str, Any]) -> tuple[str, str, str]:
    is_there = f"version {row['version']}" if row["installed"] else f"not installed: {row['to_install']}"
    here = row["lacks"] or (f"ready, {is_there}" if row["installed"] else is_there)
    return row["name"] + (" (simulated)" if row["simulated"] else ""), here, row["hardware"]
