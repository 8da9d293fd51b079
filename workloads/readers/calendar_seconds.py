"""Seconds since 1970 of `YYYY-MM-DD HH:MM:SS`, given as rows of bytes.

Requests of one second share these characters, and traces are nearly in order: each run of equal seconds is parsed once.
"""

import numpy as np

from workloads.readers.text_words import Bytes, Flags, Longs, word_at

SECOND_CHARS = len("2023-11-16 18:15:46")
WORD_STARTS = (0, 8, SECOND_CHARS - 8)  # three words of 8 characters cover all of them
SEPARATORS = {4: b"-", 7: b"-", 10: b" Tt", 13: b":", 16: b":"}
DIGITS = [place for place in range(SECOND_CHARS) if place not in SEPARATORS]
FIELDS = ((0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2))
YEARS = (1900, 2200)  # nanoseconds of these fit 64 bits


def seconds_of(rows: Bytes) -> tuple[Longs, Flags]:
    """Return seconds of rows of bytes, and which rows begin with a real date and time of day."""
    is_head = np.zeros(len(rows), dtype=bool)
    is_head[:1] = True
    for start in WORD_STARTS:
        words = word_at(rows, start)
        is_head[1:] |= words[1:] != words[:-1]
    heads = np.flatnonzero(is_head)
    seconds, is_read = _parse(rows[heads, :SECOND_CHARS])
    runs = np.diff(heads, append=len(rows))
    return np.repeat(seconds, runs), np.repeat(is_read, runs)


def _parse(rows: Bytes) -> tuple[Longs, Flags]:
    digits = rows - np.uint8(ord("0"))
    is_read = (digits[:, DIGITS] <= 9).all(axis=1)  # noqa: PLR2004  # the digits
    for place, allowed in SEPARATORS.items():
        is_read &= np.isin(rows[:, place], np.frombuffer(allowed, dtype=np.uint8))
    year, month, day, hour, minute, second = (_number(digits, start, count) for start, count in FIELDS)
    is_read &= (year >= YEARS[0]) & (year <= YEARS[1]) & (month >= 1) & (month <= 12) & (day >= 1)  # noqa: PLR2004
    is_read &= (hour < 24) & (minute < 60) & (second < 60)  # noqa: PLR2004  # of a clock
    months = (np.where(is_read, (year - 1970) * 12 + month - 1, 0)).astype("datetime64[M]")
    first_day = months.astype("datetime64[D]")
    is_read &= day <= ((months + 1).astype("datetime64[D]") - first_day).astype(np.int64)
    days = first_day.astype(np.int64) + day - 1
    return ((days * 24 + hour) * 60 + minute) * 60 + second, is_read


def _number(digits: Bytes, start: int, count: int) -> Longs:
    total = np.zeros(len(digits), dtype=np.int64)
    for place in range(start, start + count):
        total = total * 10 + digits[:, place]
    return total
