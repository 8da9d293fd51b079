"""Units of a trace's times, for formats whose times are bare numbers."""

from typing import Literal, get_args

import polars as pl

TimeUnit = Literal["s", "ms", "us", "ns"]
MAX_NS = 1 << 62
UNIT_NS: dict[TimeUnit, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
UNIT_WORDS: dict[TimeUnit, str] = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def parse_unit(unit: str) -> TimeUnit:
    """Check the name of a unit.

    Raises:
        ValueError: it is none of s, ms, us, ns.
    """
    for known in get_args(TimeUnit):
        if unit == known:
            return known  # type: ignore[no-any-return]  # get_args forgets the literals' type
    raise ValueError(f"unit {unit!r} is unknown; give one of {', '.join(UNIT_NS)}")


def number_ns(column: str, unit: TimeUnit) -> pl.Expr:
    """Turn a numeric column into int64 nanoseconds, null where these do not fit 64 bits.

    Whole units and fraction apart: epoch milliseconds times a million would not fit the 53 bits of a double.
    """
    whole = pl.col(column).floor().cast(pl.Int64, strict=False)
    fraction = ((pl.col(column) - pl.col(column).floor()) * UNIT_NS[unit]).round().cast(pl.Int64, strict=False)
    limit = MAX_NS // UNIT_NS[unit]
    return pl.when(whole.is_between(-limit, limit)).then(whole * UNIT_NS[unit] + fraction)
