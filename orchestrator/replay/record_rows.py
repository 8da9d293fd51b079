"""Records as plain rows, for pipes and files: a tuple in the order of the record's fields, arrays as their bytes.

Holds no file and no socket. Rows hold plain ints, strings and bytes only.
"""

from array import array
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from orchestrator.domain.records import RequestFailure, RequestRecord

NAMES = tuple(field.name for field in fields(RequestRecord))
ARRAY_NAMES = frozenset({"chunk_ns", "chunk_tokens"})
TEXT_NAMES = frozenset({"finish_reason", "failure", "failure_detail"})
TIME_NAMES = frozenset({"intended_ns", "dispatched_ns", "sent_ns", "end_ns", "first_answer_ns"})
INT_BYTES = 8

Row = tuple[Any, ...]

INDEX, INTENDED_NS, END_NS = (NAMES.index(name) for name in ("index", "intended_ns", "end_ns"))
CHUNK_NS, FAILURE, CHUNK_TOKENS = (NAMES.index(name) for name in ("chunk_ns", "failure", "chunk_tokens"))
DISPATCHED_NS = NAMES.index("dispatched_ns")
_TIMES = tuple(NAMES.index(name) for name in sorted(TIME_NAMES))


def to_row(record: RequestRecord) -> Row:
    """Return a record as a row; cheap, since it is done on the sending process's event loop."""
    tokens, failure = record.chunk_tokens, record.failure
    return (
        record.index,
        record.intended_ns,
        record.dispatched_ns,
        record.sent_ns,
        record.chunk_ns.tobytes(),
        record.end_ns,
        record.input_tokens,
        record.output_tokens_asked,
        record.input_tokens_server,
        record.output_tokens_server,
        record.output_tokens_client,
        record.cached_tokens_server,
        record.first_answer_ns,
        record.finish_reason,
        record.http_status,
        None if failure is None else failure.value,
        record.failure_detail,
        record.connect_ns,
        None if tokens is None else tokens.tobytes(),
    )


def to_record(row: Sequence[Any]) -> RequestRecord:
    """Return a row as the record that it was."""
    values = dict(zip(NAMES, row, strict=True))
    for name in ARRAY_NAMES:
        values[name] = None if values[name] is None else array("q", values[name])
    failure = values["failure"]
    values["failure"] = None if failure is None else RequestFailure(failure)
    return RequestRecord(**values)


def shifted(row: Row, by_ns: int) -> Row:
    """Return a row whose times are `by_ns` later; spans and counts stay."""
    values = list(row)
    for place in _TIMES:
        if values[place] is not None:
            values[place] += by_ns
    values[CHUNK_NS] = (np.frombuffer(values[CHUNK_NS], dtype=np.int64) + by_ns).tobytes()
    return tuple(values)


def in_order(row: Row) -> tuple[int, int]:
    """Return what records are ordered by: intended arrival, then index."""
    return row[INTENDED_NS], row[INDEX]
