"""What was worked out about files, remembered as JSON by key; a memory that fails costs time and nothing else."""

import json
import logging
from pathlib import Path
from typing import Any

from filelock import FileLock

from orchestrator.models.atomic import write_text

logger = logging.getLogger(__name__)


def recall(file: Path) -> dict[str, Any]:
    """Return everything that is remembered in a file."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        logger.warning("%s is not read (%s); what it remembered is worked out again", file, error)
        return {}
    return found if isinstance(found, dict) else {}


def remember(file: Path, key: str, value: object) -> None:
    """Add one thing to a file, or replace it; other writers wait."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_name(f".{file.name}.lock")):
            write_text(file, json.dumps({**recall(file), key: value}, indent=1))
    except OSError as error:
        logger.warning("%s is not written (%s); it is worked out again next time", file, error)
