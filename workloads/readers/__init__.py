"""Readers of trace files: one module a format, one door."""

from pathlib import Path

from workloads.readers import azure2023, burstgpt, mooncake
from workloads.readers.recognition import FORMATS, recognise
from workloads.readers.units import parse_unit
from workloads.trace import Trace, TraceError

__all__ = ["FORMATS", "read_trace"]


def read_trace(path: Path, *, format: str | None = None, unit: str | None = None) -> Trace:  # noqa: A002  # the field's word
    """Read a trace file; its format is recognised by header or keys and named in the facts.

    Args:
        path: the file.
        format: the format that is expected; a file of another one is refused.
        unit: unit of the file's bare times (s, ms, us, ns) where it is not the format's own; a given unit also
            switches off the question whether the rate is plausible.

    Raises:
        TraceError: which row is wrong, why, and what to do about it.
    """
    if format is not None and format not in FORMATS:
        raise TraceError(f"format {format!r} is unknown", path=path, advice=f"Known: {', '.join(FORMATS)}")
    found = recognise(path)
    if format is not None and found.format != format:
        raise TraceError(
            f"expected format {format}, but it is {found.format} by its first line",
            path=path,
            row=1,
            advice="Leave the format out, or name the right one",
        )
    time_unit = parse_unit(unit) if unit is not None else None
    match found.format:
        case azure2023.NAME:
            return azure2023.read(path)
        case burstgpt.NAME:
            return burstgpt.read(path, found.names, time_unit)
        case _:
            return mooncake.read(path, frozenset(found.names), time_unit)
