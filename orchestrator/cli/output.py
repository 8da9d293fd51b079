"""Where words go: the artefact to stdout, everything else to stderr."""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


@cache
def progress_console() -> "Console":
    """Return the console of progress: stderr. Rich is imported when something is drawn, a tenth of a second."""
    from rich.console import Console  # noqa: PLC0415 - not for commands that only print lines

    return Console(stderr=True, highlight=False)


def say(message: str) -> None:
    """Print a line of progress; above a live table where one is shown, since that takes over stderr."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def complain(message: str) -> None:
    """Print an error."""
    progress_console().print(f"error: {message}", style="red", markup=False, soft_wrap=True)


def emit_json(value: object) -> None:
    """Print a value as one JSON document; non-finite numbers are refused."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False, default=str) + "\n")


def emit_text(text: str) -> None:
    """Print text as it is."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def emit_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; None shows as a dash."""
    from rich.console import Console  # noqa: PLC0415 - not for commands that only print lines
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("-" if cell is None else str(cell) for cell in row))
    Console(highlight=False, soft_wrap=True).print(table)


def emit_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Print names and values, one a line."""
    emit_table(title, ("what", "seen"), list(facts.items()))
