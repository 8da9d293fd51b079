import datetime
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from workloads.readers import ReadOptions, read_trace
from workloads.readers.column_names import closest_mapping, spell_mapping
from workloads.trace import Trace, TraceError

Write = Callable[[str], Path]
MAPPING = {"arrival": "created_at", "input_tokens": "tokens in", "output_tokens": "tokens out"}
CSV = 'created_at,"tokens in",tokens out,who\n2024-05-10T00:00:00Z,10,1,ann\n2024-05-10T00:00:01.5Z,20.0,2,bob\n'


def mapped(path: Path, more: dict[str, str] | None = None, **options: object) -> Trace:
    return read_trace(path, options=ReadOptions(mapping=MAPPING | (more or {}), **options))  # type: ignore[arg-type]


def test_any_csv_reads_with_a_mapping(write: Write) -> None:
    trace = mapped(write(CSV), {"client": "who"})
    assert trace.facts.format == "mapped"
    assert trace.arrival_ns.tolist() == [0, 1_500_000_000]
    assert trace.input_tokens.tolist() == [10, 20]
    assert trace.rows["client_id"].n_unique() == 2
    assert trace.facts.resolution_ns == 100_000_000


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_are_seen_in_the_header(write: Write, separator: str) -> None:
    assert mapped(write(CSV.replace(",", separator))).digest == mapped(write(CSV)).digest


def test_unknown_columns_are_offered_the_closest_mapping_ready_to_paste(write: Write) -> None:
    with pytest.raises(TraceError, match="not recognised") as caught:
        read_trace(write("created_at,prompt tokens,completion_tokns,user\n1,2,3,a\n"))
    assert (
        "--map arrival=created_at --map input_tokens='prompt tokens' --map output_tokens=completion_tokns "
        "--map client=user" in caught.value.advice
    )


def test_a_needed_column_that_nothing_resembles_is_left_open() -> None:
    found = closest_mapping(("a", "usage.prompt_tokens"), {})
    assert spell_mapping(found) == (
        "--map arrival=COLUMN --map input_tokens=usage.prompt_tokens --map output_tokens=COLUMN"
    )


def test_a_mapping_to_a_column_that_is_not_there_is_refused_with_the_closest(write: Write) -> None:
    with pytest.raises(TraceError, match="no column who_knows") as caught:
        mapped(write(CSV), {"client": "who_knows"})
    assert "--map arrival=created_at" in caught.value.advice
    with pytest.raises(TraceError, match="the mapping lacks output_tokens"):
        read_trace(write(CSV), options=ReadOptions(mapping={"arrival": "created_at", "input_tokens": "tokens in"}))
    with pytest.raises(TraceError, match="no column of ours is called colour"):
        mapped(write(CSV), {"colour": "who"})


@pytest.mark.parametrize(
    ("first", "second", "span_ns", "unit"),
    [
        ("1715299200", "1715299201.5", 1_500_000_000, "seconds"),
        ("1715299200000", "1715299201500", 1_500_000_000, "milliseconds"),
        ("1715299200000000", "1715299200000001", 1000, "microseconds"),
        ("1715299200000000000", "1715299200000000001", 1, "nanoseconds"),
    ],
)
def test_the_unit_of_epoch_numbers_is_told_by_their_size(
    write: Write, first: str, second: str, span_ns: int, unit: str
) -> None:
    rows = f"created_at,tokens in,tokens out\n{first},1,1\n{second},2,2\n"
    trace = mapped(write(rows))
    assert trace.span_ns == span_ns
    assert f"read in {unit}" in trace.facts.notes[0]


def test_numbers_of_no_epoch_are_a_question_about_their_unit(write: Write) -> None:
    path = write("created_at,tokens in,tokens out\n0.25,1,1\n10.5,2,2\n")
    with pytest.raises(TraceError) as caught:
        mapped(path)
    assert "--unit" in caught.value.advice
    assert mapped(path, unit="ms").span_ns == 10_250_000
    named = write("t_ms,tokens in,tokens out\n0.25,1,1\n10.5,2,2\n")
    assert mapped(named, {"arrival": "t_ms"}).span_ns == 10_250_000


def test_a_rate_that_no_server_sees_is_a_question(write: Write) -> None:
    rows = "".join(f"{1_715_299_200_000_000 + i},1,1\n" for i in range(50))
    with pytest.raises(TraceError, match="outside the plausible"):
        mapped(write("created_at,tokens in,tokens out\n" + rows))


def test_clock_times_and_numbers_in_one_file_are_not_mixed(write: Write) -> None:
    with pytest.raises(TraceError, match="created_at must be") as caught:
        mapped(write(CSV + "1715299200,30,3,eve\n"))
    assert caught.value.row == 4


def test_times_with_and_without_an_offset_are_asked_about(write: Write) -> None:
    with pytest.raises(TraceError, match="2 of 3 times have an offset"):
        mapped(write(CSV + "2024-05-10 00:00:07,30,3,eve\n"))
    assert mapped(write(CSV + "2024-05-10 00:00:07,30,3,eve\n"), zone="UTC").span_ns == 7 * 10**9


def test_json_lines_are_mapped_by_dotted_paths(write: Write) -> None:
    rows = [
        {"meta": {"at": "2024-05-10 00:00:00.25"}, "usage": {"in": 10, "out": 1}, "took_ms": 12.5},
        {"meta": {"at": "2024-05-10 00:00:01.25"}, "usage": {"in": "20", "out": 2}, "session": 5},
    ]
    mapping = {
        "arrival": "meta.at",
        "input_tokens": "usage.in",
        "output_tokens": "usage.out",
        "service_ms": "took_ms",
        "session": "session",
    }
    path = write("\n".join(json.dumps(row) for row in rows))
    trace = read_trace(path, options=ReadOptions(mapping=mapping))
    assert trace.arrival_ns.tolist() == [0, 10**9]
    assert trace.input_tokens.tolist() == [10, 20]
    assert trace.rows["service_ns"].to_list() == [12_500_000, None]
    assert trace.rows["session_id"].is_null().to_list() == [True, False]
    assert any("names no time zone" in note for note in trace.facts.notes)


def test_an_end_time_gives_service_times_and_one_before_the_arrival_gives_none(write: Write) -> None:
    rows = "created_at,tokens in,tokens out,done\n1715299200,1,1,1715299202\n1715299201,2,2,1715299200\n"
    trace = mapped(write(rows), {"end": "done"})
    assert trace.rows["service_ns"].to_list() == [2 * 10**9, None]
    assert any("1 requests end before they arrive" in note for note in trace.facts.notes)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_parquet_reads_with_typed_times(tmp_path: Path, zone: str | None) -> None:
    path = tmp_path / "log.parquet"
    start = datetime.datetime(2024, 5, 10)  # noqa: DTZ001  # a naive time is what is tested
    frame = pl.DataFrame(
        {
            "created_at": pl.Series([start, start + datetime.timedelta(microseconds=1)]).dt.replace_time_zone(zone),
            "tokens in": [1, 2],
            "tokens out": [3.0, 4.0],
        }
    )
    frame.write_parquet(path)
    seen: list[tuple[int, int]] = []
    trace = mapped(path, progress=lambda done, size: seen.append((done, size)))
    assert trace.arrival_ns.tolist() == [0, 1000]
    assert trace.output_tokens.tolist() == [3, 4]
    assert seen[-1] == (path.stat().st_size,) * 2


def test_a_parquet_row_without_a_length_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"created_at": [1715299200] * 2, "tokens in": [1, None], "tokens out": [1, 1]}).write_parquet(path)
    with pytest.raises(TraceError, match="tokens in must be") as caught:
        mapped(path)
    assert caught.value.row == 2


def test_a_mapping_stands_before_a_recognised_format(write: Write) -> None:
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,7,8\n"
    swapped = {"arrival": "TIMESTAMP", "input_tokens": "GeneratedTokens", "output_tokens": "ContextTokens"}
    assert read_trace(write(text), options=ReadOptions(mapping=swapped)).input_tokens.tolist() == [8]


@pytest.mark.parametrize("bad", ["1e30", "nan", "99999999999999999999999999999999999999999", "soon"])
def test_a_number_that_is_no_time_is_refused_by_its_line(write: Write, bad: str) -> None:
    with pytest.raises(TraceError, match="created_at must be a number") as caught:
        mapped(write(f"created_at,tokens in,tokens out\n1715299200,1,1\n{bad},2,2\n"))
    assert caught.value.row == 3


def test_a_profile_given_as_a_trace_is_told_from_one(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text("arrivals: {}\n", encoding="utf-8")
    with pytest.raises(TraceError, match="a profile or a workload, not a trace"):
        read_trace(path)
