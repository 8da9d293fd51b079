"""Times that are bare numbers of a column whose unit nobody published: told by their size, or asked about.

For the years 2000 to 2100, seconds since 1970 are told from milliseconds, microseconds and nanoseconds by size alone.
"""

import re

import polars as pl

from workloads.readers.units import UNIT_NS, UNIT_WORDS, TimeUnit

YEARS_S = (946_684_800, 4_102_444_800)  # 2000-01-01 and 2100-01-01 since 1970
UNIT_SUFFIX = re.compile(
    r"(?:^|[_.\s(])(s|sec|secs|seconds|ms|millis|milliseconds|us|micros|microseconds|ns|nanos|nanoseconds)\)?$"
)
UNIT_OF_WORD: dict[str, TimeUnit] = {
    "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "ms": "ms", "millis": "ms", "milliseconds": "ms",
    "us": "us", "micros": "us", "microseconds": "us",
    "ns": "ns", "nanos": "ns", "nanoseconds": "ns",
}  # fmt: skip
DECIMAL = pl.Decimal(38, 9)
NS_LIMIT = 1 << 62


def unit_by_size(value: float) -> TimeUnit | None:
    """Return the unit in which a number is a time of the years 2000 to 2100, None where it is in none."""
    low, high = YEARS_S
    for unit, unit_ns in UNIT_NS.items():
        if low <= value * unit_ns / UNIT_NS["s"] < high:
            return unit
    return None


def unit_by_name(column: str) -> TimeUnit | None:
    """Return the unit that a column's name ends with, as `latency_ms` or `elapsed (s)`."""
    match = UNIT_SUFFIX.search(column.lower())
    return UNIT_OF_WORD[match[1]] if match else None


def texts_ns(texts: pl.Expr, unit: TimeUnit) -> pl.Expr:
    """Turn numbers as text into int64 nanoseconds, to the ninth decimal; null where they are none or do not fit."""
    near = texts.str.strip_chars().cast(pl.Float64, strict=False)
    fits = near.abs() < NS_LIMIT // UNIT_NS[unit]
    exact = pl.when(fits).then(texts.str.strip_chars()).cast(DECIMAL, strict=False)
    rounded = pl.when(fits).then(near).cast(DECIMAL, strict=False)
    return (pl.coalesce(exact, rounded) * UNIT_NS[unit]).round().cast(pl.Int64, strict=False)


def unit_question(column: str, first: str) -> str:
    """Ask in which unit a column is."""
    words = ", ".join(f"{unit} ({UNIT_WORDS[unit]})" for unit in UNIT_NS)
    return f"In which unit is {column}, whose first value is {first}? Name it, as --unit s; known: {words}"
