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

    A column `line`, where there is one, says where in the file a row came from. `time_unit` names the unit that was
    assumed for bare numbers, None where the format spells out its times.
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
    rows, order_note = _in_order(raw.rows)
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
        notes=(
            *raw.notes,
            *order_note,
            *_grid_note(arrival_ns.size, grid_ns, raw.resolution_ns),
            *_empty_note(rows),
            *_duplicates_note(rows),
        ),
    )
    return Trace(rows, facts)


def check_lengths(raw: RawRows) -> None:
    """Refuse a token count below 0 or beyond 32 bits.

    Raises:
        TraceError: names the first such row by its line in the file, where that is known.
    """
    for column in ("input_tokens", "output_tokens"):
        counts = raw.rows[column]
        low, high = counts.min(), counts.max()
        if low is not None and high is not None and low >= 0 and high <= INT32_MAX:  # type: ignore[operator]  # numbers
            continue
        position = int((~counts.is_between(0, INT32_MAX)).arg_max() or 0)
        raise TraceError(
            f"{column} is {counts[position]}; a token count lies between 0 and {INT32_MAX}",
            path=raw.path,
            row=int(raw.rows["line"][position]) if "line" in raw.rows.columns else None,
            advice="Correct or remove the row",
        )


def _in_order(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    stamps = rows["stamp_ns"].to_numpy()
    is_late = stamps[1:] < stamps[:-1]
    num_late = int(np.count_nonzero(is_late))
    ordered = rows.sort("stamp_ns", maintain_order=True) if num_late else rows
    since_first = (pl.col("stamp_ns") - pl.col("stamp_ns").first()).alias("arrival_ns")
    return (
        ordered.select(
            since_first,
            pl.col("input_tokens", "output_tokens").cast(pl.Int32),
            pl.exclude("stamp_ns", "line", "input_tokens", "output_tokens"),
        ),
        (_order_note(num_late, int((stamps[:-1] - stamps[1:])[is_late].max())),) if num_late else (),
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


def _order_note(num_late: int, largest_ns: int) -> str:
    return (
        f"{num_late} rows came before their predecessor, by up to {largest_ns / NS_PER_S:g} s; "
        "whole rows were sorted by arrival"
    )


def _grid_note(num_rows: int, grid_ns: int, resolution_ns: int) -> tuple[str, ...]:
    if grid_ns == resolution_ns:
        return ()
    return (f"the {num_rows} arrivals lie on a grid of {grid_ns / NS_PER_S:g} s, coarser than the format's step",)


def _empty_note(rows: pl.DataFrame) -> tuple[str, ...]:
    """Count outputs of no token among requests that did not fail at the source."""
    num_empty = int(rows.select(((pl.col("output_tokens") == 0) & ~pl.col("is_failed")).sum()).item())
    return (f"{num_empty} requests have an output of 0 tokens and are kept",) if num_empty else ()


def _duplicates_note(rows: pl.DataFrame) -> tuple[str, ...]:
    """Count rows that repeat another one in every column; only rows of one instant are compared."""
    arrival_ns = rows["arrival_ns"].to_numpy()
    is_shared = np.zeros(rows.height, dtype=bool)
    is_shared[1:] = arrival_ns[1:] == arrival_ns[:-1]
    is_shared[:-1] |= is_shared[1:]
    shared = rows.filter(pl.Series(is_shared) & ~pl.col("is_failed"))
    num_repeated = shared.height - shared.unique().height if shared.height else 0
    return (f"{num_repeated} rows equal another row in every column and are kept",) if num_repeated else ()
