"""Readers of trace files: one module a format, one door."""

from dataclasses import replace
from pathlib import Path

from workloads.readers.column_names import full_names
from workloads.readers.format import ReadOptions
from workloads.readers.recognition import recognise
from workloads.readers.registry import FORMATS as KNOWN_FORMATS
from workloads.readers.units import parse_unit
from workloads.trace import Trace, TraceError

__all__ = ["FORMATS", "ReadOptions", "read_trace"]

FORMATS = tuple(one.name for one in KNOWN_FORMATS)


def read_trace(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002  # the field's word
    unit: str | None = None,
    options: ReadOptions | None = None,
) -> Trace:
    """Read a trace file; its format is recognised by header or keys and named in the facts.

    Args:
        path: the file.
        format: the format that is expected; a file of another one is refused.
        unit: unit of the file's bare times (s, ms, us, ns) where it is not the format's own; a given unit also
            switches off the question whether the rate is plausible.
        options: all else that a person may want; `unit` stands before what it says.

    Raises:
        TraceError: which row is wrong, why, and what to do about it.
    """
    if format is not None and format not in FORMATS:
        raise TraceError(f"format {format!r} is unknown", path=path, advice=f"Known: {', '.join(FORMATS)}")
    given = _given(options or ReadOptions(), unit)
    found, sample = recognise(path, given.mapping)
    if format is not None and found.name != format:
        raise TraceError(
            f"expected format {format}, but it is {found.name} by its first line",
            path=path,
            row=1,
            advice="Leave the format out, or name the right one",
        )
    return found.read(sample, given)


def _given(options: ReadOptions, unit: str | None) -> ReadOptions:
    """Spell options as readers expect them."""
    spelled = replace(options, mapping=full_names(options.mapping))
    return spelled if unit is None else replace(spelled, unit=parse_unit(unit))
