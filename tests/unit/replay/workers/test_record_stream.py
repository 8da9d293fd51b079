import threading
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord, Window
from orchestrator.replay import read_records, record_writer, write_records
from orchestrator.replay.files import open_records
from orchestrator.replay.record_file import RecordFile
from orchestrator.replay.record_rows import in_order, to_row
from orchestrator.replay.record_writer import RecordWriter

S = 1_000_000_000
LOG = ReplayLog(OpenLoad(rate_rps=1), (), 0, Window(0, 5 * S), 6 * S, array("q", [1]), 0.1)


def record(index: int, intended_ns: int) -> RequestRecord:
    return RequestRecord(
        index,
        intended_ns,
        intended_ns + 1,
        None if index % 3 else 5,
        array("q", range(index % 4)),
        intended_ns + 9,
        1,
        2,
    )


def shuffled() -> list[RequestRecord]:
    """Return 40 records as they ended: mostly in order, one that hung to the end, two of one time."""
    rows = [record(at, at * 10 - at % 2 * 15) for at in range(40)]
    hung = rows.pop(3)
    return [*rows, hung, record(40, 200)]


def no_sync(fd: int) -> None:
    del fd


def write_in_groups(path: Path, *, sync: Callable[[int], None] = no_sync) -> ReplayLog:
    clock = [0]
    writer = RecordWriter(path, sync=sync, now=lambda: clock[0])
    try:
        for at, one in enumerate(shuffled()):
            writer.add(to_row(one))
            if at % 7 == 6:
                clock[0] += 3 * S
            writer.turn()
        return writer.finish(LOG)
    finally:
        writer.close()


def test_records_stream_to_a_file_that_reads_in_order(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    log = write_in_groups(path)
    expected = sorted(shuffled(), key=lambda one: in_order(to_row(one)))
    assert isinstance(log.records, RecordFile)
    assert list(log.records) == expected
    assert len(log.records) == 41
    assert [log.records[at] for at in range(-1, 40)] == [expected[-1], *expected[:40]]
    assert log.records[5:9] == tuple(expected[5:9])
    read = read_records(path)
    assert read.records == tuple(expected)
    assert (read.load, read.window, read.backlog_s) == (LOG.load, LOG.window, log.backlog_s)
    assert [one.name for one in tmp_path.iterdir()] == ["records.parquet"]


def test_a_log_that_lies_in_its_file_is_not_written_twice_and_can_be_copied(tmp_path: Path) -> None:
    path, copy = tmp_path / "records.parquet", tmp_path / "copy.parquet"
    log = write_in_groups(path)
    before = path.stat().st_ino
    write_records(log, path)
    assert path.stat().st_ino == before
    write_records(log, copy)
    assert list(open_records(copy).records) == list(log.records)


def test_a_replay_that_breaks_off_leaves_no_file(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "records.parquet", sync=no_sync)
    writer.add(to_row(record(0, 0)))
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_stalled_disk_holds_nobody_up_and_is_said(tmp_path: Path) -> None:
    clock, goes_on = [0], threading.Event()
    writer = RecordWriter(tmp_path / "records.parquet", sync=lambda _: goes_on.wait(10) or None, now=lambda: clock[0])
    try:
        for at in range(5):
            writer.add(to_row(record(at, at)))
            clock[0] += 3 * S
            writer.turn()
        goes_on.set()
        log = writer.finish(LOG)
    finally:
        writer.close()
    assert log.backlog_s is not None
    assert log.backlog_s >= 3
    assert len(log.records) == 5


def test_a_disk_that_never_keeps_up_ends_the_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "WAITING_MAX_BYTES", 100)
    clock, goes_on = [0], threading.Event()
    writer = RecordWriter(tmp_path / "records.parquet", sync=lambda _: goes_on.wait(10) or None, now=lambda: clock[0])
    try:
        writer.add(to_row(record(1, 1)))
        clock[0] += 3 * S
        with pytest.raises(MeasurementRefusedError, match="wait for the disk, which does not keep up"):
            writer.turn()
    finally:
        goes_on.set()
        writer.close()


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device", fd)

    with pytest.raises(OSError, match="No space left"):
        write_in_groups(tmp_path / "records.parquet", sync=full)
    assert list(tmp_path.iterdir()) == []
