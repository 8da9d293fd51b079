"""A schedule as a Parquet file: one row a request, the facts in the file's metadata. Loss-free."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.digest import canonical_json
from workloads.schedule import Schedule

FACTS_KEY = b"seatrial.schedule"


def write_schedule(schedule: Schedule, path: Path) -> None:
    """Write a schedule: `intended_ns` (null in a closed loop), lengths in tokens, leading block ids if any.

    `lora` is there where the workload names adapters: the one that a request asks, null for the base model. `session`
    is there where requests belong together: equal for those of one conversation, -1 for a request by itself.
    """
    count = len(schedule)
    times = schedule.intended_ns if schedule.intended_ns is not None else pa.nulls(count, pa.int64())
    columns = {
        "intended_ns": pa.array(times, pa.int64()),
        "input_tokens": pa.array(schedule.input_tokens),
        "output_tokens": pa.array(schedule.output_tokens),
    }
    if schedule.blocks is not None:
        offsets = pa.array(schedule.blocks.offsets.astype("int32"))
        columns["block_ids"] = pa.ListArray.from_arrays(offsets, pa.array(schedule.blocks.values))
    if schedule.lora is not None:
        columns["lora"] = pa.array([schedule.lora.of(index) for index in range(count)], pa.string())
    if schedule.sessions is not None:
        columns["session"] = pa.array(schedule.sessions)
    head = {
        "digest": schedule.digest,
        "facts": dict(schedule.facts),
        "block_tokens": schedule.block_tokens,
        "duration_s": schedule.duration_s,
    }
    table = pa.table(columns).replace_schema_metadata({FACTS_KEY: canonical_json(head).encode()})
    pq.write_table(table, path)


def read_facts(path: Path) -> dict[str, object]:
    """Read what a schedule's file says of itself: digest, facts, block size in tokens, duration in seconds."""
    facts: dict[str, object] = json.loads(pq.read_schema(path).metadata[FACTS_KEY])
    return facts
