"""Builds request records and logs by hand: times in milliseconds, so that expectations can be read off."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from orchestrator.domain.load import OfferedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord, Window

MS = 1_000_000


def make_record(
    index: int = 0, *, intended_ms: float = 0.0, chunks_ms: Sequence[float] = (50.0, 60.0, 70.0), **changes: object
) -> RequestRecord:
    """One request, sent when intended, whose chunks arrive at `chunks_ms` after that; one token a chunk."""
    intended_ns = round(intended_ms * MS)
    chunk_ns = array("q", (intended_ns + round(at * MS) for at in chunks_ms))
    values: dict[str, Any] = {
        "index": index,
        "intended_ns": intended_ns,
        "dispatched_ns": intended_ns,
        "sent_ns": intended_ns,
        "chunk_ns": chunk_ns,
        "end_ns": chunk_ns[-1] if chunk_ns else intended_ns,
        "input_tokens": 16,
        "output_tokens_asked": len(chunk_ns),
        "output_tokens_server": len(chunk_ns),
        "output_tokens_client": len(chunk_ns),
        "finish_reason": "length",
    }
    return RequestRecord(**(values | changes))


def make_log(
    records: Sequence[RequestRecord], *, window_ms: tuple[float, float] = (0, 10_000), **changes: object
) -> ReplayLog:
    """One log whose client was punctual and idle."""
    start, end = (round(edge * MS) for edge in window_ms)
    load: OfferedLoad = OpenLoad(rate_rps=10.0)
    values: dict[str, Any] = {
        "load": load,
        "records": tuple(records),
        "started_ns": 0,
        "window": Window(start, end),
        "drained_ns": end,
        "loop_lag_ns": array("q", [0] * 400),
        "client_cpu_ratio": 0.1,
    }
    return ReplayLog(**(values | changes))


@pytest.fixture
def record() -> Callable[..., RequestRecord]:
    return make_record


@pytest.fixture
def log() -> Callable[..., ReplayLog]:
    return make_log
