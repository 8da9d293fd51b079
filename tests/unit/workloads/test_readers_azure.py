from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workloads.readers import ReadOptions, read_trace
from workloads.readers.line_blocks import read_line_blocks
from workloads.trace import Trace, TraceError

Write = Callable[[str], Path]
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
AZURE_2024 = (
    HEADER
    + "2024-05-10 00:00:00.009930+00:00,2162,5\n"
    + "2024-05-10 00:00:01+00:00,2399,6\n"
    + "2024-05-10 00:00:01.335900+00:00,76,15\n"
)


def seconds(trace: Trace) -> list[float]:
    return [round(one, 9) for one in (trace.arrival_ns / 1e9).tolist()]


def test_azure_2024_is_told_by_its_offset_and_keeps_rows_without_a_fraction(write: Write) -> None:
    trace = read_trace(write(AZURE_2024))
    assert (trace.facts.format, trace.facts.resolution_ns) == ("azure2024", 1000)
    assert seconds(trace) == [0, 0.99007, 1.32597]
    assert trace.input_tokens.tolist() == [2162, 2399, 76]
    assert trace.facts.dropped == {}


def test_offsets_count(write: Write) -> None:
    rows = "2024-05-10 02:00:00.5+02:00,1,1\n2024-05-10T00:00:01Z,2,2\n2024-05-09 19:00:02-05:00,3,3\n"
    trace = read_trace(write(HEADER + rows))
    assert seconds(trace) == [0, 0.5, 1.5]
    assert trace.input_tokens.tolist() == [1, 2, 3]


def test_a_plain_block_and_one_that_is_checked_line_by_line_give_the_same_rows(write: Write) -> None:
    plain = read_trace(write(AZURE_2024))
    quoted = read_trace(write(AZURE_2024.replace("2162", '"2162"')))
    blank = read_trace(write(AZURE_2024.replace("\n2024-05-10 00:00:01+", "\n\n2024-05-10 00:00:01+")))
    assert plain.digest == quoted.digest == blank.digest


def test_times_with_and_without_an_offset_are_a_question_until_a_zone_is_named(write: Write) -> None:
    path = write(AZURE_2024 + "2024-05-10 02:00:02,4,4\n")
    with pytest.raises(TraceError, match="3 of 4 times have an offset") as caught:
        read_trace(path)
    assert "request 4" in caught.value.reason
    assert "--zone" in caught.value.advice
    trace = read_trace(path, options=ReadOptions(zone="Europe/Berlin"))
    assert seconds(trace)[-1] == 1.99007
    with pytest.raises(TraceError, match="unknown"):
        read_trace(path, options=ReadOptions(zone="Mars/Base"))


def test_an_hour_that_a_zone_has_twice_is_not_guessed(write: Write) -> None:
    path = write(HEADER + "2024-10-27 02:30:00,4,4\n")
    with pytest.raises(TraceError, match="TIMESTAMP"):
        read_trace(path, options=ReadOptions(zone="Europe/Berlin"))


def test_a_trace_of_one_request_reads(write: Write) -> None:
    trace = read_trace(write(HEADER + "2023-11-16 18:15:46.6805901,374,44"))
    assert (len(trace), trace.span_ns, trace.facts.grid_ns) == (1, 0, 100)


def test_clocks_that_jump_back_are_counted_with_their_largest_jump(write: Write) -> None:
    stamps = ("10", "05", "06", "03")
    trace = read_trace(write(HEADER + "".join(f"2023-11-16 18:00:{one},{int(one)},1\n" for one in stamps)))
    assert trace.input_tokens.tolist() == [3, 5, 6, 10]
    assert "2 rows came before their predecessor, by up to 5 s" in trace.facts.notes[0]


def test_repeated_rows_and_empty_outputs_are_kept_and_counted(write: Write) -> None:
    rows = "2023-11-16 18:00:01,5,0\n2023-11-16 18:00:01,5,0\n2023-11-16 18:00:01,5,1\n2023-11-16 18:00:02,5,1\n"
    trace = read_trace(write(HEADER + rows))
    assert len(trace) == 4
    assert trace.facts.notes == (
        "2 requests have an output of 0 tokens and are kept",
        "1 rows equal another row in every column and are kept",
    )


def test_lines_of_a_file_of_many_blocks_keep_their_numbers(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(read_line_blocks.__kwdefaults__, "block_bytes", 100)
    rows = [f"2023-11-16 18:00:{i // 60:02d}.{i % 60:07d},{i},1\n" for i in range(300)]
    trace = read_trace(write(HEADER + "".join(rows)))
    assert np.array_equal(trace.input_tokens, np.arange(300))
    rows[250] = "2023-11-16 18:00:04.0000010,many,1\n"
    with pytest.raises(TraceError) as caught:
        read_trace(write(HEADER + "".join(rows)))
    assert caught.value.row == 252
