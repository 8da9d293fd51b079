"""A trace: who arrived when, with how many tokens, as one columnar table and the facts about it.

Reading files is `workloads.readers`; this module never opens one.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.digest import DIGEST_CHARS, canonical_json
from workloads.errors import WorkloadError

NS_PER_S = 1_000_000_000


class TraceError(WorkloadError):
    """A trace cannot be used: which file, which row, why, and what to do about it."""

    def __init__(self, reason: str, *, path: Path | None = None, row: int | None = None, advice: str = "") -> None:
        super().__init__(reason, path, row, advice)
        self.reason = reason
        self.path = path
        self.row = row
        self.advice = advice

    def __str__(self) -> str:
        place = str(self.path) if self.path is not None else "trace"
        line = f", line {self.row}" if self.row is not None else ""
        return f"{place}{line}: {self.reason}" + (f". {self.advice}" if self.advice else "")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.reason, self.path, self.row, self.advice))


def _rebuild(reason: str, path: Path | None, row: int | None, advice: str) -> TraceError:
    return TraceError(reason, path=path, row=row, advice=advice)


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """What is known of a trace beside its rows.

    `resolution_ns` is the format's time step; `grid_ns` is the step on which arrivals really lie, which may be coarser.
    `dropped` counts rows of the file that are not in the table, by reason.
    """

    format: str
    source: str
    resolution_ns: int
    grid_ns: int
    block_tokens: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """Requests in order of arrival.

    Columns of `rows`: `arrival_ns` (int64, from the first arrival), `input_tokens`, `output_tokens` (int32),
    `is_failed` (its lengths are unknown and stand as 0), and where the format has them `block_ids` (list of int64),
    `session_id` and `client_id` (uint64, salted hashes: no identity is kept), `ttft_ns` and `service_ns` (int64, from
    arrival to first and last token; null where not recorded), `model` (string) and, only when asked for, `text`.
    """

    rows: pl.DataFrame
    facts: TraceFacts

    def __len__(self) -> int:
        return self.rows.height

    @property
    def arrival_ns(self) -> NDArray[np.int64]:
        """Return arrival times, nanoseconds from the first arrival, ascending."""
        return self.rows["arrival_ns"].to_numpy()

    @property
    def input_tokens(self) -> NDArray[np.int32]:
        """Return input lengths, tokens."""
        return self.rows["input_tokens"].to_numpy()

    @property
    def output_tokens(self) -> NDArray[np.int32]:
        """Return output lengths, tokens."""
        return self.rows["output_tokens"].to_numpy()

    @property
    def num_failed(self) -> int:
        """Return how many requests the source itself recorded as failed."""
        return int(self.rows["is_failed"].sum())

    @property
    def span_ns(self) -> int:
        """Return the time from the first to the last arrival."""
        return int(self.arrival_ns[-1])

    @property
    def block_ids(self) -> BlockIds | None:
        """Return the prompts' block ids, None where the format has none."""
        if "block_ids" not in self.rows.columns:
            return None
        lists = self.rows["block_ids"]
        values = lists.filter(lists.list.len() > 0).explode().to_numpy()
        return make_blocks(offsets_of(lists.list.len().to_numpy().astype(np.int64)), values)

    def answered(self) -> "Trace":
        """Return the trace without the requests that its source recorded as failed."""
        return Trace(self.rows.filter(~pl.col("is_failed")), self.facts)

    @property
    def digest(self) -> str:
        """Digest rows, format and block size; equal on every machine, whatever the file is called."""
        hasher = hashlib.sha256(canonical_json([self.facts.format, self.facts.block_tokens, len(self)]).encode())
        for column, kind in (
            ("arrival_ns", "<i8"),
            ("input_tokens", "<i4"),
            ("output_tokens", "<i4"),
            ("is_failed", "u1"),
        ):
            hasher.update(np.ascontiguousarray(self.rows[column].to_numpy(), dtype=kind).data)
        blocks = self.block_ids
        if blocks is not None:
            hasher.update(blocks.offsets.astype("<i8").data)
            hasher.update(blocks.values.astype("<i8").data)
        return hasher.hexdigest()[:DIGEST_CHARS]
