"""Where words go: the artefact to stdout, everything else to stderr."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

progress = Console(stderr=True, highlight=False)
artefact = Console(highlight=False, soft_wrap=True)


def say(message: str) -> None:
    """Print a line of progress."""
    progress.print(message, markup=False, soft_wrap=True)


def complain(message: str) -> None:
    """Print an error."""
    progress.print(f"error: {message}", style="red", markup=False, soft_wrap=True)


def emit_json(value: object) -> None:
    """Print a value as one JSON document; non-finite numbers are refused."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False, default=str) + "\n")


def emit_text(text: str) -> None:
    """Print text as it is."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def emit_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; None shows as a dash."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("-" if cell is None else str(cell) for cell in row))
    artefact.print(table)


def emit_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Print names and values, one a line."""
    emit_table(title, ("what", "seen"), list(facts.items()))
