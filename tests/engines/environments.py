"""Interpreters of engines' own environments, installed once into the user's cache as a user would."""

import os
from pathlib import Path

from adapters import registry
from orchestrator.environments import install
from orchestrator.telemetry.hardware import read_hardware


def interpreter_for(engine: str) -> Path:
    """Return the engine's interpreter: SEATRIAL_<ENGINE>_PYTHON where it is set, else the installed one."""
    chosen = os.environ.get(f"SEATRIAL_{engine.upper()}_PYTHON")
    return Path(chosen) if chosen else install(registry.get(engine), read_hardware(), version=None, say=print)
