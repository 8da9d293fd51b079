"""How long a file takes to read, shown on a terminal: bytes, rate, time left."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from orchestrator.cli.output import progress_console, say
from workloads.readers.format import Progress as Watch


@contextmanager
def watch_reading(path: Path) -> Iterator[Watch | None]:
    """Show a bar while a file is read; yield what the reader tells, None where stderr is no terminal."""
    if not progress_console().is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=progress_console(), transient=True) as bar:
        task = bar.add_task(f"reading {path.name}", total=None)

        def watch(num_read_bytes: int, num_bytes: int) -> None:
            bar.update(task, completed=num_read_bytes, total=num_bytes or None)

        yield watch


@contextmanager
def watch_work(what: str) -> Iterator[None]:
    """Say what is going on while it takes: a moving line on a terminal, else one plain line."""
    if not progress_console().is_terminal:
        say(what)
        yield
        return
    with progress_console().status(what):
        yield
