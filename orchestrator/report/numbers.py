"""Figures as people read them: three digits, their unit beside them, a dash where nothing was measured."""

from orchestrator.domain.measurement import Distribution
from orchestrator.metrics.percentiles import PERCENTILES, requests_needed

MISSING = "-"
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


def percentile_ms(sample: Distribution, name: str) -> str:
    """Spell a percentile in milliseconds, or how many requests it would need where the sample does not carry it."""
    value: float | None = getattr(sample, name)
    return milliseconds(value) if value is not None else f"needs {requests_needed(PERCENTILES[name])}"
