"""Time zones of a file's times: with an offset or without one; both in one file is a question, not a guess."""

from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import polars as pl

from workloads.readers.clock_times import ClockTimes
from workloads.trace import TraceError


class Settled(NamedTuple):
    """Rows whose times are all of one kind, and whether these have offsets."""

    rows: pl.DataFrame
    has_offset: bool


def check_zone(zone: str | None, path: Path) -> None:
    """Return when a zone is known or none is named.

    Raises:
        TraceError: there is no such zone.
    """
    if zone is None:
        return
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:
        raise TraceError(
            f"time zone {zone!r} is unknown", path=path, advice="Name one as UTC or Europe/Berlin"
        ) from error


def clock_columns(times: ClockTimes, zone: str | None) -> tuple[pl.Series, pl.Series]:
    """Turn times into `stamp_ns` and `has_offset`; null where a text was no time, or none that the zone has just once.

    Times without an offset are of `zone`, or where that is None, of a clock that is never changed.
    """
    stamps = pl.Series("stamp_ns", times.stamp_ns)
    if zone is not None and not times.has_offset.all():
        local = pl.from_epoch(stamps, time_unit="ns").dt.replace_time_zone(zone, ambiguous="null", non_existent="null")
        stamps = pl.select(pl.when(pl.lit(times.has_offset)).then(stamps).otherwise(local.dt.epoch("ns"))).to_series()
    if not times.is_readable.all():
        stamps = pl.select(pl.when(pl.lit(times.is_readable)).then(stamps)).to_series()
    return stamps.alias("stamp_ns"), pl.Series("has_offset", times.has_offset)


def settle_zones(rows: pl.DataFrame, zone: str | None, path: Path) -> Settled:
    """Take `has_offset` off rows where it does not matter or has been answered.

    Raises:
        TraceError: some times have an offset, others have none, and no zone is named.
    """
    num_offset = int(rows["has_offset"].sum()) if rows.height else 0
    if 0 < num_offset < rows.height and zone is None:
        is_usual = num_offset * 2 >= rows.height
        first = int(np.argmin(rows["has_offset"].to_numpy() == is_usual)) + 1
        raise TraceError(
            f"{num_offset} of {rows.height} times have an offset and the others have none; request {first} is the "
            f"first {'without' if is_usual else 'with'} one",
            path=path,
            advice="In which time zone are those without? Name it, as --zone UTC or --zone Europe/Berlin",
        )
    return Settled(rows.drop("has_offset"), num_offset > 0)
