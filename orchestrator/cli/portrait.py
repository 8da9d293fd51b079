"""Pictures of the traffic that a study replays, drawn from its trace or profile when the study has ended."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import yaml
from pydantic import ValidationError

from orchestrator.domain.errors import InputError
from orchestrator.report.traffic.pictures import traffic_pngs
from workloads.errors import WorkloadError
from workloads.profile.model import TraceProfile
from workloads.profile.whole import profile_trace
from workloads.readers import read_trace
from workloads.trace import Trace
from workloads.trace_window import cut_piece
from workloads.workload import ProfileSource, TraceSource, Workload

NOT_DRAWN = "not_drawn.txt"


def draw_workload(workload: Workload) -> Mapping[str, bytes]:
    """Draw a trace's window or a measured profile as PNG by file name; nothing for traffic that was never measured.

    A file that is gone or cannot be read gives one text with the reason: the study's own figures stand without it.
    """
    try:
        return _draw(workload)
    except (WorkloadError, InputError, OSError) as error:
        return {NOT_DRAWN: f"The traffic was not drawn: {error}\n".encode()}


def read_profile(path: Path) -> TraceProfile:
    """Read what `seatrial profile` wrote.

    Raises:
        InputError: the file holds no measured profile.
    """
    try:
        return TraceProfile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (ValidationError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: expected a profile as `seatrial profile -o` writes it; it is another file"
        ) from error


def window_of(trace: Trace, source: TraceSource) -> Trace:
    """Return the part of a trace that a source replays, and note how much of it that is.

    Raises:
        TraceError: no request lies in the window.
    """
    piece = cut_piece(trace, start_s=source.start_s, duration_s=source.duration_s)
    if len(piece) == len(trace):
        return trace
    note = f"only {len(piece):,} of {len(trace):,} requests: the window that was replayed"
    return Trace(piece.rows, replace(piece.facts, notes=(*piece.facts.notes, note)))


def _draw(workload: Workload) -> Mapping[str, bytes]:
    match workload.source:
        case TraceSource() as source:
            trace = window_of(read_trace(source.path, format=source.format, unit=source.unit), source)
            return traffic_pngs(profile_trace(trace), trace)
        case ProfileSource(path=Path() as path):
            return traffic_pngs(read_profile(path), None)
        case _:
            return {}
