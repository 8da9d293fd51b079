"""Figures as people read them: three digits, their unit beside them, a dash where nothing was measured."""

from collections.abc import Callable

from orchestrator.domain.distribution import Distribution, Interval, Part
from orchestrator.metrics.percentiles import PERCENTILES, requests_needed

MISSING = "-"
UNSTABLE = "unstable"
MS_PER_S = 1000
MIB = 2**20
_ESTABLISHED = 999.5


def number(value: float | None) -> str:
    """Spell a value with three significant digits and no exponent where it is of everyday size."""
    if value is None:
        return MISSING
    return f"{value:,.0f}" if abs(value) >= _ESTABLISHED else f"{value:.3g}"


def milliseconds(seconds: float | None) -> str:
    """Spell seconds in milliseconds."""
    return MISSING if seconds is None else number(seconds * MS_PER_S)


def percent(ratio: float | None) -> str:
    """Spell a ratio as a percentage."""
    return MISSING if ratio is None else f"{100 * ratio:.1f} %"


def mebibytes(size_bytes: float | None) -> str:
    """Spell bytes in MiB."""
    return MISSING if size_bytes is None else f"{size_bytes / MIB:,.0f}"


def with_interval(value: float | None, interval: Interval | None, spell: Callable[[float | None], str]) -> str:
    """Spell a value, its 95 % interval behind it where there is one: `143 [139, 150]`."""
    return spell(value) + ("" if value is None or interval is None else f" {bounds(interval, spell)}")


def bounds(interval: Interval, spell: Callable[[float | None], str]) -> str:
    """Spell an interval alone: `[139, 150]`."""
    return f"[{spell(interval.low)}, {spell(interval.high)}]"


def percentile_ms(sample: Distribution, name: Part, *, is_unstable: bool = False) -> str:
    """Spell a percentile in milliseconds with its interval, or how many requests it would need where it is withheld.

    Of an unstable queue no number of requests would carry it.
    """
    value: float | None = getattr(sample, name)
    if value is None:
        return UNSTABLE if is_unstable else needs(sample, name)
    return with_interval(value, sample.intervals.get(name), milliseconds)


def needs(sample: Distribution, name: Part) -> str:
    """Say how many requests would carry a withheld percentile."""
    return f"needs {values_needed(sample, name)}"


def values_needed(sample: Distribution, name: str) -> int:
    """Return how many values carry a percentile: as the sample says, else as many as independent ones would be."""
    told = {str(part): count for part, count in sample.needed.items()}
    return told.get(name, requests_needed(PERCENTILES[name]))
