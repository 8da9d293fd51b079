"""The times of a log, numbers since 1970 or spelled out, as whole nanoseconds; the first decides how others are read.

Nothing is guessed: a number that fits no unit, a second spelling or a time without a zone among others is refused.
"""

import datetime
import re
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from workloads.readers.epochs import unit_by_size
from workloads.readers.units import UNIT_NS, UNIT_WORDS, TimeUnit
from workloads.trace import NS_PER_S, TraceError

NUMBER = re.compile(r"(\d+)(?:\.(\d+))?")
SPELLED = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?\s?(Z|UTC|[+-]\d\d(?::?\d\d)?)?")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MAX_DIGITS = 9


class RowError(ValueError):
    """One row cannot be read; the reason, without anything of its content but numbers."""


@dataclass(slots=True)
class Clock:
    """Reads the times of one file; `unit` and `zone` are what a person named, None where nobody did."""

    unit: TimeUnit | None = None
    zone: str | None = None
    found_unit: TimeUnit | None = None
    is_spelled: bool | None = None
    is_naive: bool | None = None
    num_digits: int = 0
    place: ZoneInfo | datetime.timezone = field(default=datetime.UTC, init=False)

    def __post_init__(self) -> None:
        if self.zone is not None:
            self.place = find_zone(self.zone)

    @property
    def resolution_ns(self) -> int:
        """Return the finest step that the times read so far are written in."""
        return max(1, UNIT_NS[self.found_unit or "s"] // int(10**self.num_digits))

    @property
    def time_unit(self) -> str | None:
        """Return the unit of bare numbers in words, None where times are spelled out."""
        return None if self.found_unit is None else UNIT_WORDS[self.found_unit]

    def notes(self) -> tuple[str, ...]:
        """Say what was assumed."""
        if self.is_naive and self.zone is None:
            return ("times carry no zone and were read as UTC",)
        if self.found_unit is not None and self.unit is None:
            return (f"times were read as {self.time_unit} since 1970, by their size",)
        return ()

    def read(self, value: object) -> int:
        """Return a time as nanoseconds since 1970, or since the origin of a unit that a person named.

        Raises:
            RowError: it is no time, or one of another kind than those before.
        """
        text = value.strip() if isinstance(value, str) else repr(value)
        number = NUMBER.fullmatch(text)
        spelled = SPELLED.fullmatch(text) if number is None else None
        if isinstance(value, bool) or (number is None and spelled is None):
            raise RowError("its time is neither a number nor written as YYYY-MM-DDThh:mm:ss")
        if self.is_spelled is None:
            self.is_spelled = spelled is not None
        if self.is_spelled != (spelled is not None):
            raise RowError("its time is written in another way than those before it")
        match = spelled or number
        return self._spelled(*match.groups()) if spelled else self._number(*match.groups())  # type: ignore[union-attr]

    def _number(self, whole: str, fraction: str | None) -> int:
        unit = self.found_unit or self.unit or _unit_of(int(whole))
        if self.unit is None and _unit_of(int(whole)) != unit:
            raise RowError(f"its time is not in {UNIT_WORDS[unit]} since 1970, as those before it are")
        self.found_unit = unit
        return int(whole) * UNIT_NS[unit] + self._fraction(fraction) * UNIT_NS[unit] // NS_PER_S

    def _spelled(self, date: str, time: str, fraction: str | None, offset: str | None) -> int:
        if self.is_naive is None:
            self.is_naive = offset is None
        if self.is_naive != (offset is None):
            raise RowError("its time has a zone where those before have none, or the reverse")
        try:
            moment = datetime.datetime.fromisoformat(f"{date}T{time}").replace(
                tzinfo=self.place if offset is None else datetime.UTC
            )
        except ValueError as error:
            raise RowError(f"its time does not exist ({error})") from error
        since = moment - EPOCH
        return (since.days * 86_400 + since.seconds - _offset_s(offset)) * NS_PER_S + self._fraction(fraction)

    def _fraction(self, digits: str | None) -> int:
        """Return nine digits after the point as a whole number; more are cut off."""
        if digits is None:
            return 0
        self.num_digits = max(self.num_digits, min(len(digits), MAX_DIGITS))
        return int(digits[:MAX_DIGITS].ljust(MAX_DIGITS, "0"))


def duration_ns(value: object, unit: TimeUnit) -> int | None:
    """Return a length of time as nanoseconds, None where there is none.

    Raises:
        RowError: it is no number, or below 0.
    """
    if value is None or value in ("", "-"):
        return None
    match = NUMBER.fullmatch(value.strip() if isinstance(value, str) else repr(value))
    if match is None or isinstance(value, bool):
        try:
            number = float(str(value))
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf") or isinstance(value, bool):
            raise RowError("its duration is no number of at least 0")
        return round(number * UNIT_NS[unit])
    whole, fraction = match.groups()
    digits = int((fraction or "0")[:MAX_DIGITS].ljust(MAX_DIGITS, "0"))
    return int(whole) * UNIT_NS[unit] + digits * UNIT_NS[unit] // NS_PER_S


def find_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name.

    Raises:
        TraceError: there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise TraceError(f"time zone {name!r} is unknown", advice="Name one as Europe/Berlin or UTC") from error


def _unit_of(number: int) -> TimeUnit:
    unit = unit_by_size(number)
    if unit is None:
        raise RowError(
            f"its time {number} is no time since 1970 in s, ms, us or ns; name the unit if it is another one"
        )
    return unit


def _offset_s(offset: str | None) -> int:
    if offset is None or offset in ("Z", "UTC"):
        return 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if offset[0] == "-" else seconds
