import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.errors import InputError
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.telemetry.files import read_telemetry, write_telemetry
from orchestrator.telemetry.sample_file import SampleFile

SAMPLES = st.lists(st.tuples(st.integers(0, 2**62), st.floats(allow_nan=False)), max_size=20)


def series(name: str, samples: list[tuple[int, float]], unit: str = "bytes") -> Series:
    times_ns = np.array([time_ns for time_ns, _ in samples], dtype=np.int64)
    return Series(name, unit, times_ns, np.array([value for _, value in samples], dtype=np.float64))


@settings(deadline=None)  # the first write imports Arrow's compute parts
@given(columns=st.lists(SAMPLES, max_size=4), notes=st.lists(st.text(max_size=10), max_size=3))
def test_nothing_is_lost_on_the_way_through_a_file(
    tmp_path_factory: pytest.TempPathFactory, columns: list[list[tuple[int, float]]], notes: list[str]
) -> None:
    path = tmp_path_factory.mktemp("files") / "telemetry.parquet"
    listed = tuple(series(f"series_{index}", samples) for index, samples in enumerate(columns))
    written = Telemetry(listed, 0.2, tuple(notes))
    write_telemetry(written, path)
    back = read_telemetry(path)
    assert (back.interval_s, back.notes) == (written.interval_s, written.notes)
    assert [(one.name, one.unit) for one in back.series] == [(one.name, one.unit) for one in written.series]
    for one, other in zip(back.series, written.series, strict=True):
        np.testing.assert_array_equal(one.times_ns, other.times_ns)
        np.testing.assert_array_equal(one.values, other.values)


def test_rows_are_long(tmp_path: Path) -> None:
    write_telemetry(Telemetry((series("a", [(1, 2.0), (3, 4.0)]),), 0.2), tmp_path / "t.parquet")
    rows = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert rows[1] == {"name": "a", "unit": "bytes", "time_ns": 3, "value": 4.0}


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="without its mark"):
        read_telemetry(tmp_path / "t.parquet")


def test_samples_are_read_as_they_are_written_and_half_lines_later(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    lines = [{"from": "host", "t": time_ns, "v": {"host_available_bytes": time_ns * 2.0}} for time_ns in (1, 2, 3)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    samples = SampleFile(path, {})
    samples.read()
    assert samples.series() == ()
    path.write_text(text[:-5])
    samples.read()
    assert samples.series()[0].times_ns.tolist() == [1, 2]
    path.write_text(text)
    samples.read()
    samples.read()
    (found,) = samples.series()
    assert (found.name, found.unit) == ("host_available_bytes", "bytes")
    assert found.times_ns.tolist() == [1, 2, 3]
    assert found.values.tolist() == [2.0, 4.0, 6.0]


def test_gaps_and_slow_looks_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    events = [
        {"from": "engine", "t": 1, "v": {}},
        {"gap": "engine", "reason": "refused"},
        {"gap": "engine", "reason": "answered 500"},
        {"slow": "engine", "took_s": 0.5},
        {"slow": "engine", "took_s": 0.3},
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    samples = SampleFile(path, {})
    samples.read()
    missing, slow = samples.notes()
    assert missing == "engine: 2 of 3 samples are missing, the last since answered 500"
    assert slow == "engine: 2 of 3 samples took longer than the interval, the longest 0.500 s"
