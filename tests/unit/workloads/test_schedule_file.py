"""A written schedule holds what was sent and says where it came from."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from workloads.schedule import build_closed_schedule, build_open_schedule
from workloads.schedule_file import read_facts, write_schedule
from workloads.workload import PublishedSource, Workload


def test_an_open_schedule_is_written_whole(tmp_path: Path) -> None:
    schedule = build_open_schedule(Workload(), rate_rps=5, duration_s=20)
    write_schedule(schedule, tmp_path / "schedule.parquet")
    table = pq.read_table(tmp_path / "schedule.parquet")
    assert np.array_equal(table["intended_ns"].to_numpy(), schedule.intended_ns)
    assert np.array_equal(table["input_tokens"].to_numpy(), schedule.input_tokens)
    assert np.array_equal(table["output_tokens"].to_numpy(), schedule.output_tokens)
    facts = read_facts(tmp_path / "schedule.parquet")
    assert facts["digest"] == schedule.digest
    assert facts["duration_s"] == 20


def test_a_closed_schedule_has_no_times(tmp_path: Path) -> None:
    write_schedule(build_closed_schedule(Workload(), num_requests=7), tmp_path / "schedule.parquet")
    table = pq.read_table(tmp_path / "schedule.parquet")
    assert table.num_rows == table["intended_ns"].null_count == 7


def test_the_adapter_of_each_request_is_kept(tmp_path: Path) -> None:
    schedule = build_closed_schedule(Workload(lora={"a": 0.5}), num_requests=40)
    write_schedule(schedule, tmp_path / "schedule.parquet")
    asked = pq.read_table(tmp_path / "schedule.parquet")["lora"].to_pylist()
    assert schedule.lora is not None
    assert asked == [schedule.lora.of(index) for index in range(40)]
    assert set(asked) == {"a", None}
    assert read_facts(tmp_path / "schedule.parquet")["facts"]["lora"] == {"a": 0.5}


def test_the_session_of_each_request_is_kept(tmp_path: Path) -> None:
    schedule = build_open_schedule(Workload(source=PublishedSource(name="agentic")), rate_rps=2, duration_s=120)
    write_schedule(schedule, tmp_path / "schedule.parquet")
    assert schedule.sessions is not None
    assert pq.read_table(tmp_path / "schedule.parquet")["session"].to_pylist() == schedule.sessions.tolist()


def test_without_adapters_there_is_no_column_for_them(tmp_path: Path) -> None:
    write_schedule(build_closed_schedule(Workload(), num_requests=3), tmp_path / "schedule.parquet")
    assert "lora" not in pq.read_table(tmp_path / "schedule.parquet").column_names


def test_shared_blocks_are_kept_by_row(tmp_path: Path) -> None:
    schedule = build_open_schedule(Workload(), rate_rps=5, duration_s=20)
    write_schedule(schedule, tmp_path / "schedule.parquet")
    table = pq.read_table(tmp_path / "schedule.parquet")
    assert ("block_ids" in table.column_names) == (schedule.blocks is not None)
    if schedule.blocks is not None:
        assert sum(map(len, table["block_ids"].to_pylist())) == len(schedule.blocks.values)
