"""From a reader's raw rows to a checked `Trace`: order, origin, plausibility.

Every reader ends here, so the rules for what a trace must be are in one place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from workloads.grid import find_grid_ns
from workloads.trace import NS_PER_S, Trace, TraceError, TraceFacts

MIN_ROWS_FOR_A_RATE = 10
PLAUSIBLE_RPS = (1e-4, 1e3)
MAX_SPAN_S = 10 * 365 * 86_400
INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RawRows:
    """What a reader found: the columns of `Trace` with `stamp_ns` on any origin, in file order, and facts.

    `time_unit` names the unit that was assumed for bare numbers, None where the format spells out its times.
    """

    rows: pl.DataFrame
    format: str
    path: Path
    resolution_ns: int
    time_unit: str | None = None
    is_unit_given: bool = False
    block_tokens: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def assemble(raw: RawRows) -> Trace:
    """Sort whole rows by arrival, count time from the first, check what must hold.

    Raises:
        TraceError: no rows, a length that is negative or absurd, or a rate that no server sees.
    """
    if raw.rows.height == 0:
        raise TraceError("no requests in it", path=raw.path, advice="Give a trace with at least one row")
    check_lengths(raw)
    rows, num_late = _in_order(raw.rows)
    _check_rate(rows, raw)
    arrival_ns = rows["arrival_ns"].to_numpy()
    grid_ns = find_grid_ns(arrival_ns, raw.resolution_ns)
    facts = TraceFacts(
        format=raw.format,
        source=raw.path.name,
        resolution_ns=raw.resolution_ns,
        grid_ns=grid_ns,
        block_tokens=raw.block_tokens,
        dropped=dict(raw.dropped),
        notes=(*raw.notes, *_order_note(num_late), *_grid_note(arrival_ns.size, grid_ns, raw.resolution_ns)),
    )
    return Trace(rows, facts)


def check_lengths(raw: RawRows) -> None:
    """Refuse a token count below 0 or beyond 32 bits.

    Raises:
        TraceError: names the first such row by its line in the file.
    """
    for column in ("input_tokens", "output_tokens"):
        is_bad = raw.rows.select(~pl.col(column).is_between(0, INT32_MAX)).to_series()
        if is_bad.any():
            position = int(is_bad.arg_max() or 0)
            raise TraceError(
                f"{column} is {raw.rows[column][position]}; a token count lies between 0 and {INT32_MAX}",
                path=raw.path,
                row=int(raw.rows["line"][position]),
                advice="Correct or remove the row",
            )


def _in_order(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    stamps = rows["stamp_ns"].to_numpy()
    num_late = int(np.count_nonzero(np.diff(stamps) < 0))
    ordered = rows.sort("stamp_ns", maintain_order=True) if num_late else rows
    return (
        ordered.with_columns(
            (pl.col("stamp_ns") - pl.col("stamp_ns").first()).alias("arrival_ns"),
            pl.col("input_tokens", "output_tokens").cast(pl.Int32),
        ).select("arrival_ns", pl.exclude("arrival_ns", "stamp_ns", "line")),
        num_late,
    )


def _check_rate(rows: pl.DataFrame, raw: RawRows) -> None:
    span_s = int(rows["arrival_ns"][-1]) / NS_PER_S
    if raw.time_unit is None or raw.is_unit_given or rows.height < MIN_ROWS_FOR_A_RATE or span_s == 0:
        return
    rate_rps = (rows.height - 1) / span_s
    low, high = PLAUSIBLE_RPS
    if low <= rate_rps <= high and span_s <= MAX_SPAN_S:
        return
    raise TraceError(
        f"read in {raw.time_unit}, its {rows.height} requests span {span_s:.6g} s, that is {rate_rps:.3g} requests/s, "
        f"outside the plausible {low:g} to {high:g} over at most ten years",
        path=raw.path,
        advice=f"Are its times really in {raw.time_unit}? If not, say which unit (s, ms, us, ns); if so, name it too",
    )


def _order_note(num_late: int) -> tuple[str, ...]:
    return (f"{num_late} rows came before their predecessor; whole rows were sorted by arrival",) if num_late else ()


def _grid_note(num_rows: int, grid_ns: int, resolution_ns: int) -> tuple[str, ...]:
    if grid_ns == resolution_ns:
        return ()
    return (f"the {num_rows} arrivals lie on a grid of {grid_ns / NS_PER_S:g} s, coarser than the format's step",)
