"""Values of a JSON object, checked: None where there is none, a fault where it is of another kind."""

from workloads.readers.gathering import TOKENS
from workloads.readers.json_table import NoRowError, Row

MAX_NUMBER = 1 << 62
IDS_EXPECTED = "a list of whole numbers"


def number_of(row: Row, key: str) -> float | None:
    """Return a number.

    Raises:
        NoRowError: it is none.
    """
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MAX_NUMBER:
        raise NoRowError(f"{key} unreadable", f"{key} must be a number")
    return float(value)


def whole_of(row: Row, key: str) -> int | None:
    """Return a whole number.

    Raises:
        NoRowError: it is none.
    """
    value = number_of(row, key)
    if value is not None and not value.is_integer():
        raise NoRowError(f"{key} unreadable", f"{key} must be {TOKENS}")
    return None if value is None else int(row[key])


def ids_of(row: Row, key: str) -> list[int] | None:
    """Return a list of ids as int64; ids of 64 bits without a sign keep their bits.

    Raises:
        NoRowError: it is none.
    """
    value = row.get(key)
    if value is None:
        return None
    is_list = isinstance(value, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in value)
    if not is_list or not all(-(1 << 63) <= one < 1 << 64 for one in value):
        raise NoRowError(f"{key} unreadable", f"{key} must be {IDS_EXPECTED}")
    return [one if one < 1 << 63 else one - (1 << 64) for one in value]
