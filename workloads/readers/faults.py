"""Rows of a file that cannot be read: counted by reason, the first ones remembered, tolerated up to a stated share."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from workloads.trace import TraceError

MIN_ROWS_FOR_ONE = 1000
MIN_ROW_BYTES = 4
NUM_SHOWN = 3
SHOWN_CHARS = 80
ADVICE = "Was the file cut off here? Correct or remove the line"


class Fault(NamedTuple):
    """One row that cannot be read.

    `kind` is what faults are counted by, `reason` says what was expected, `seen` shows the row: it may be somebody's
    text, so it goes into errors and never into a trace.
    """

    line: int
    kind: str
    reason: str
    seen: str = ""


@dataclass(slots=True)
class Faults:
    """The faults of one file, and how many of its rows may have one."""

    path: Path
    max_ratio: float
    counts: Counter[str] = field(default_factory=Counter)
    first: list[Fault] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Return the number of rows with a fault."""
        return self.counts.total()

    def add(self, faults: Sequence[Fault], *, max_rows: int) -> None:
        """Count faults of a file of at most `max_rows` rows.

        Raises:
            TraceError: the file has more than are tolerated, however its other rows are.
        """
        self.counts.update(one.kind for one in faults)
        self.first.extend(faults[: NUM_SHOWN - len(self.first)])
        self.refuse_beyond(max_rows)

    def refuse_beyond(self, num_rows: int) -> None:
        """Return when a file of that many rows may have so many faults: none below 1000 rows, then always one.

        Raises:
            TraceError: shows the first one.
        """
        if self.total <= allowed_faults(num_rows, self.max_ratio):
            return
        first = self.first[0]
        more = f"; {self.total} rows of this file cannot be read" if self.total > 1 else ""
        seen = f", seen {first.seen!r}" if first.seen else ""
        raise TraceError(f"{first.reason}{seen}{more}", path=self.path, row=first.line, advice=ADVICE)

    def note(self, num_rows: int) -> tuple[str, ...]:
        """Say how many rows were left out, where, and why."""
        if not self.total:
            return ()
        shown = "; ".join(f"line {one.line}: {one.reason}" for one in self.first)
        more = " and so on" if self.total > len(self.first) else ""
        return (f"{self.total} of {num_rows} rows could not be read and were left out ({shown}{more})",)


def allowed_faults(num_rows: int, max_ratio: float) -> int:
    """Return how many of a file's rows may be unreadable."""
    allowed = int(num_rows * max_ratio)
    return max(1, allowed) if num_rows >= MIN_ROWS_FOR_ONE and max_ratio > 0 else allowed


def shorten(text: str) -> str:
    """Return a line as it is shown in an error."""
    return text.rstrip("\r\n")[:SHOWN_CHARS]
