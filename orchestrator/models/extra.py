"""Imports what only the extra `models` brings, and says so where it is missing."""

from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from orchestrator.domain.errors import InputError


def require(module: str) -> ModuleType:
    """Import a module of the extra.

    Raises:
        InputError: it is not installed; with the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(f"converting weights needs {module}: pip install 'seatrial[models]' ({error})") from error


def versions(*distributions: str) -> str:
    """Name the installed versions, as in `gguf 0.19.0`; for records."""
    return ", ".join(f"{one} {version(one)}" for one in distributions)
