"""The beginning of a file, from which its format is told."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.readers.csv_table import csv_fields
from workloads.readers.format import Sample
from workloads.readers.media import refuse_media_row
from workloads.readers.unpacking import PARQUET_MAGIC, open_unpacked, packing_of
from workloads.trace import TraceError

MAX_FIRST_LINE_BYTES = 1 << 24
HEAD_BYTES = 1 << 16


def take_sample(path: Path) -> Sample:
    """Read a file's beginning.

    Raises:
        TraceError: the file is missing, empty or binary, its first row is cut off, or begins with more than text.
    """
    with open_unpacked(path) as file:
        data = file.readline(MAX_FIRST_LINE_BYTES)
        if data.startswith(PARQUET_MAGIC):
            return Sample(path, "parquet", _parquet_names(path), "")
        while data and not data.strip():
            data = file.readline(MAX_FIRST_LINE_BYTES)
        head = data + file.read(max(0, HEAD_BYTES - len(data)))
    line, text = _decode(data, path).strip(), _decode(head[:HEAD_BYTES], path, is_cut=True)
    if not line:
        raise TraceError("empty", path=path, row=1, advice="Give a trace with at least one row")
    if not line.startswith(("{", "[")):
        return Sample(path, "csv", csv_fields(line), text)
    return _json_sample(path, line, text, is_cut=len(data) == MAX_FIRST_LINE_BYTES)


def _json_sample(path: Path, line: str, text: str, *, is_cut: bool) -> Sample:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        if is_cut or _may_go_on(line):
            return Sample(path, "document", (), text)
        raise TraceError(
            f"first line is no whole JSON object ({error.msg} at character {error.pos + 1})",
            path=path,
            row=1,
            advice="Was the file cut off here? A JSON-lines trace has one whole object a line",
        ) from error
    refuse_media_row(row, path, 1)
    if isinstance(row, list):
        return Sample(path, "document", (), text)
    keys = tuple(row) if isinstance(row, dict) else ()
    return Sample(path, "json_lines", keys, text, row)


def _may_go_on(line: str) -> bool:
    """Say whether a line that is no JSON may be the first of a document: it ends where a value may still follow."""
    return line.rstrip().endswith(("{", "[", ",", ":"))


def _parquet_names(path: Path) -> tuple[str, ...]:
    if packing_of(path) is not None:
        raise TraceError("a packed Parquet file", path=path, advice="Unpack it; Parquet is packed inside")
    try:
        return tuple(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise TraceError(
            f"the Parquet file cannot be read ({error})", path=path, advice="Was the file cut off?"
        ) from error


def _decode(data: bytes, path: Path, *, is_cut: bool = False) -> str:
    try:
        text = data.decode("utf-8-sig", errors="ignore" if is_cut else "strict")
    except UnicodeDecodeError as error:
        raise _binary(path) from error
    if "\0" in text:
        raise _binary(path)
    return text


def _binary(path: Path) -> TraceError:
    return TraceError(
        "binary data, not text", path=path, row=1, advice="Is it packed with something else than gzip or zstd?"
    )
