import datetime
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.readers import ReadOptions, read_trace
from workloads.readers.block_chains import chain_ids
from workloads.readers.clock_times import parse_clock_times
from workloads.readers.line_blocks import read_line_blocks
from workloads.trace import Trace

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
US = datetime.timedelta(microseconds=1)
MOMENTS = st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2150, 1, 1))  # noqa: DTZ001
ROWS = st.lists(st.tuples(MOMENTS, st.integers(0, 2**31 - 1), st.integers(0, 10**6)), min_size=1, max_size=40)
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
MAPPING = {"arrival": "TIMESTAMP", "input_tokens": "ContextTokens", "output_tokens": "GeneratedTokens"}
IDS = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), min_size=1, max_size=20)


def read(text: str, options: ReadOptions, block_bytes: int = 1 << 20) -> Trace:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(read_line_blocks.__kwdefaults__, {"block_bytes": block_bytes}),
    ):
        path = Path(folder) / "trace"
        path.write_text(text, newline="")
        return read_trace(path, options=options)


@given(rows=ROWS, end=st.sampled_from(["\n", "\r\n"]), block_bytes=st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_every_row_comes_back_in_order_of_arrival_however_the_file_is_cut(
    rows: list[tuple[datetime.datetime, int, int]], end: str, block_bytes: int
) -> None:
    text = HEADER.replace("\n", end) + "".join(f"{at}+00:00,{inputs},{outputs}{end}" for at, inputs, outputs in rows)
    trace = read(text, ReadOptions(), block_bytes)
    expected = sorted(rows, key=lambda row: row[0])
    first = expected[0][0]
    assert trace.arrival_ns.tolist() == [(at - first) // US * 1000 for at, _, _ in expected]
    assert trace.input_tokens.tolist() == [inputs for _, inputs, _ in expected]
    assert trace.output_tokens.tolist() == [outputs for _, _, outputs in expected]


@given(rows=ROWS)
@settings(max_examples=40, deadline=None)
def test_a_mapping_reads_what_the_format_reads(rows: list[tuple[datetime.datetime, int, int]]) -> None:
    text = HEADER + "".join(f"{at},{inputs},{outputs}\n" for at, inputs, outputs in rows)
    by_format, by_mapping = read(text, ReadOptions()), read(text, ReadOptions(mapping=MAPPING))
    assert by_format.rows.equals(by_mapping.rows)


@given(
    moments=st.lists(MOMENTS, min_size=1, max_size=30),
    offset_min=st.integers(-14 * 60, 14 * 60),
    separator=st.sampled_from(" T"),
    digits=st.sampled_from(["auto", "milliseconds", "microseconds"]),
)
@settings(max_examples=100, deadline=None)
def test_clock_times_are_those_of_the_standard_library(
    moments: list[datetime.datetime], offset_min: int, separator: str, digits: str
) -> None:
    zone = datetime.timezone(datetime.timedelta(minutes=offset_min))
    texts = [one.replace(tzinfo=zone).isoformat(separator, digits) for one in moments]
    found = parse_clock_times(pl.Series(texts))
    assert found.is_readable.all()
    assert found.has_offset.all()
    assert found.stamp_ns.tolist() == [(datetime.datetime.fromisoformat(one) - EPOCH) // US * 1000 for one in texts]


@given(
    texts=st.lists(st.text(alphabet="0123456789-: T.+Z", max_size=40) | st.text(max_size=45) | st.none(), max_size=30)
)
@settings(max_examples=100, deadline=None)
def test_what_is_read_as_a_time_is_one_of_the_standard_library_too(texts: list[str | None]) -> None:
    found = parse_clock_times(pl.Series(texts, dtype=pl.String))
    assert len(found.stamp_ns) == len(texts)
    for text, is_readable in zip(texts, found.is_readable, strict=True):
        if is_readable:
            datetime.datetime.fromisoformat(str(text)[:19])


@given(lists=IDS)
@settings(max_examples=60, deadline=None)
def test_chained_ids_are_equal_exactly_where_prefixes_are(lists: list[list[int]]) -> None:
    chained = chain_ids(pl.Series("ids", lists, dtype=pl.List(pl.Int64))).to_list()
    assert [len(one) for one in chained] == [len(one) for one in lists]
    by_id: dict[int, tuple[int, ...]] = {}
    for ids, chain in zip(lists, chained, strict=True):
        for place, one in enumerate(chain):
            assert by_id.setdefault(one, tuple(ids[: place + 1])) == tuple(ids[: place + 1])
    assert len(by_id) == len({tuple(ids[: place + 1]) for ids in lists for place in range(len(ids))})


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_shuffled_rows_read_as_the_same_trace(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stamps = np.cumsum(rng.integers(1, 10**6, 200))
    rows = [
        f"2024-05-10 00:{one // 60_000_000:02d}:{one / 1e6 % 60:09.6f}+00:00,{i},1\n" for i, one in enumerate(stamps)
    ]
    shuffled = [rows[place] for place in rng.permutation(len(rows))]
    assert read(HEADER + "".join(rows), ReadOptions()).digest == read(HEADER + "".join(shuffled), ReadOptions()).digest
