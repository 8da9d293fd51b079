"""Turns that have a `delay` in place of a time: put where the file allows, which is said."""

from pathlib import Path

import polars as pl

from workloads.trace import TraceError


def place_delayed(rows: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Give a turn without a time that of its session's turn before plus its delay; return rows and a note.

    `rows` are in file order, with `stamp_ns` and `delay_ns` (one may be null) and `session_id`; `delay_ns` goes.

    Raises:
        TraceError: a session begins with no time.
    """
    num_delayed = rows["stamp_ns"].null_count()
    if not num_delayed:
        return rows.drop("delay_ns"), ()
    waited = pl.when(pl.col("stamp_ns").is_null()).then("delay_ns").otherwise(0)
    timed = pl.col("stamp_ns").is_not_null().cum_sum().over("session_id")
    placed = (
        rows.with_columns(timed.alias("after"), waited.alias("waited_ns"))
        .with_columns(
            pl.coalesce(
                "stamp_ns",
                pl.col("stamp_ns").forward_fill().over("session_id")
                + pl.col("waited_ns").cum_sum().over("session_id", "after"),
            )
        )
        .drop("after", "waited_ns", "delay_ns")
    )
    num_lost = placed["stamp_ns"].null_count()
    if num_lost:
        raise TraceError(
            f"{num_lost} requests have a delay, but no request of their session before them has a timestamp",
            path=path,
            advice="Such a file says in what order requests come, not when; give each session's first one a timestamp",
        )
    note = (
        f"{num_delayed} requests have a delay in place of a time; they are put that long after their session's request "
        "before, though really they waited for its answer too"
    )
    return placed, (note,)
