"""Dates and times of day as text, turned into nanoseconds at the speed of arrays.

Read are `YYYY-MM-DD HH:MM:SS` with a space or a T, up to nine digits of fraction, and none or one of `Z`, ` UTC`,
`+HH:MM`, `+HHMM`, `+HH`. Every character is checked. Nothing else is guessed.
"""

import re
from typing import NamedTuple

import numpy as np
import polars as pl

from workloads.readers.calendar_seconds import SECOND_CHARS, seconds_of
from workloads.readers.text_words import WIDTH, WORD, Bytes, Flags, Longs, as_rows, digits_of, ends_with, word_at

EXPECTED = "a time as YYYY-MM-DD HH:MM:SS with up to nine digits of fraction, with or without an offset"
MAX_PATTERNS = 64
FRACTION_DIGITS = 9
NS_PER_S = 1_000_000_000
SHAPE = re.compile(
    rb"[0-9-]{10}[ Tt][0-9:]{8}(?:[.,](?P<fraction>[0-9]{1,9}))?(?P<zone>Z|z| UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


class ClockTimes(NamedTuple):
    """Nanoseconds of each text: since 1970 in UTC where `has_offset`, else by the clock of an unnamed zone."""

    stamp_ns: Longs
    is_readable: Flags
    has_offset: Flags


class Pattern(NamedTuple):
    """How a text is laid out after its seconds; `offset_s` is None where it names no zone."""

    fraction_digits: int
    zone: bytes
    offset_s: int | None

    @property
    def length(self) -> int:
        """Return the length of such a text."""
        return SECOND_CHARS + (self.fraction_digits + 1 if self.fraction_digits else 0) + len(self.zone)


def parse_clock_times(texts: pl.Series) -> ClockTimes:
    """Parse a column of texts; those that are no time are marked, not raised."""
    return parse_clock_rows(*as_rows(texts))


def parse_clock_rows(rows: Bytes, lengths: Longs) -> ClockTimes:
    """Parse texts that are laid out as rows of bytes."""
    found = ClockTimes(
        np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    )
    for length in np.flatnonzero(np.bincount(lengths, minlength=1)):
        if SECOND_CHARS <= length < WIDTH:
            _parse_same_length(rows, np.flatnonzero(lengths == length), int(length), found)
    return found


def _parse_same_length(rows: Bytes, places: Longs, length: int, found: ClockTimes) -> None:
    """Read texts of one length pattern by pattern; a pattern is taken from the first text not yet read."""
    for _ in range(MAX_PATTERNS):
        if not places.size:
            return
        pattern = _pattern(rows[places[0], :length].tobytes())
        if pattern is None:
            places = places[1:]
            continue
        is_all = len(places) == len(rows)
        stamps, is_read = _parse_pattern(rows if is_all else rows[places], pattern)
        if is_all and is_read.all():
            _fill(found, slice(None), stamps, pattern)
            return
        _fill(found, places[is_read], stamps[is_read], pattern)
        places = places[1:][~is_read[1:]]
    for place in places:  # too many patterns to be worth arrays: one by one
        _parse_alone(rows, int(place), length, found)


def _fill(found: ClockTimes, places: Longs | slice, stamps: Longs, pattern: Pattern) -> None:
    found.stamp_ns[places] = stamps
    found.is_readable[places] = True
    found.has_offset[places] = pattern.offset_s is not None


def _parse_alone(rows: Bytes, place: int, length: int, found: ClockTimes) -> None:
    pattern = _pattern(rows[place, :length].tobytes())
    if pattern is not None:
        stamps, is_read = _parse_pattern(rows[place : place + 1], pattern)
        found.stamp_ns[place], found.is_readable[place] = stamps[0], is_read[0]
        found.has_offset[place] = bool(is_read[0]) and pattern.offset_s is not None


def _pattern(text: bytes) -> Pattern | None:
    match = SHAPE.fullmatch(text)
    if match is None:
        return None
    zone = match["zone"] or b""
    return Pattern(len(match["fraction"] or b""), zone, _offset_s(zone) if zone else None)


def _offset_s(zone: bytes) -> int:
    digits = zone[1:].replace(b":", b"")
    if not digits.isdigit():
        return 0  # Z and UTC
    seconds = int(digits[:2]) * 3600 + int(digits[2:] or b"0") * 60
    return -seconds if zone.startswith(b"-") else seconds


def _parse_pattern(rows: Bytes, pattern: Pattern) -> tuple[Longs, Flags]:
    """Parse rows as one pattern; return nanoseconds and which rows really have it."""
    seconds, is_read = seconds_of(rows)
    if pattern.zone:
        is_read &= ends_with(rows, pattern.length, pattern.zone)
    stamps = seconds
    stamps -= pattern.offset_s or 0
    stamps *= NS_PER_S
    if pattern.fraction_digits:
        point = rows[:, SECOND_CHARS]
        is_read &= (point == ord(".")) | (point == ord(","))
        fraction, is_number = _fraction_ns(rows, pattern.fraction_digits)
        is_read &= is_number
        stamps += fraction
    return stamps, is_read


def _fraction_ns(rows: Bytes, num_digits: int) -> tuple[Longs, Flags]:
    start, in_word = SECOND_CHARS + 1, min(num_digits, WORD)
    fraction, is_number = digits_of(word_at(rows, start), in_word)
    fraction *= 10 ** (FRACTION_DIGITS - in_word)
    if num_digits > WORD:
        last, is_digit = digits_of(rows[:, start + WORD].astype(np.uint64), 1)
        fraction, is_number = fraction + last, is_number & is_digit
    return fraction, is_number
