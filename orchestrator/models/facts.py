"""One fact of a model's own description, checked as it is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.domain.errors import InputError


def whole(path: Path, facts: Mapping[str, Any], key: str, default: int | None = None) -> int:
    """Return a whole number.

    Raises:
        InputError: it is missing or something else.
    """
    value = facts.get(key, default)
    if not isinstance(value, int):
        raise InputError(f"{path}: {key} is {value!r}, expected a whole number")
    return value
