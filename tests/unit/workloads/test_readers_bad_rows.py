from collections.abc import Callable
from pathlib import Path

import pytest

from workloads.readers import ReadOptions, read_trace
from workloads.readers.faults import allowed_faults
from workloads.readers.line_blocks import read_line_blocks
from workloads.trace import TraceError

Write = Callable[[str], Path]
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
MOONCAKE = '{"timestamp": %d, "input_length": %d, "output_length": 3}\n'


def azure_rows(count: int) -> list[str]:
    return [f"2023-11-16 {18 + i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d},{i % 999},1\n" for i in range(count)]


@pytest.mark.parametrize(
    ("num_rows", "ratio", "allowed"),
    [(999, 1e-5, 0), (1000, 1e-5, 1), (1_000_000, 1e-5, 10), (500, 0.01, 5), (10**6, 0.0, 0)],
)
def test_how_many_bad_rows_a_file_may_have(num_rows: int, ratio: float, allowed: int) -> None:
    assert allowed_faults(num_rows, ratio) == allowed


@pytest.mark.parametrize(
    ("bad", "kind", "reason"),
    [
        ("2023-11-16 18:00:xx,secret,1\n", "TIMESTAMP unreadable", "TIMESTAMP must be"),
        ("2023-11-16 18:00:00,secret,1\n", "ContextTokens unreadable", "ContextTokens must be"),
        ("2023-11-16 18:00:00,1,-5\n", "GeneratedTokens out of range", "GeneratedTokens is -5"),
        ("2023-11-16 18:00:00,1,1,secret\n", "too many fields", "more fields than the header has"),
        ("2023-11-16 18:00:00\n", "ContextTokens unreadable", "ContextTokens must be"),
    ],
)
def test_one_bad_row_in_a_thousand_is_counted_and_shown_without_its_content(
    write: Write, bad: str, kind: str, reason: str
) -> None:
    rows = azure_rows(1500)
    rows[700] = bad
    facts = read_trace(write(HEADER + "".join(rows))).facts
    assert facts.dropped == {kind: 1}
    assert f"line 702: {reason}" in facts.notes[0]
    assert "secret" not in "".join(facts.notes)


def test_more_bad_rows_than_tolerated_are_refused_with_the_first(write: Write) -> None:
    rows = azure_rows(1500)
    rows[700] = rows[900] = "2023-11-16 18:00:00,many,1\n"
    path = write(HEADER + "".join(rows))
    with pytest.raises(TraceError, match="2 rows of this file cannot be read") as caught:
        read_trace(path)
    assert caught.value.row == 702
    assert "many" in caught.value.reason
    assert len(read_trace(path, options=ReadOptions(max_bad_ratio=0.01))) == 1498


def test_a_bad_row_in_a_small_file_is_refused(write: Write) -> None:
    rows = azure_rows(50)
    rows[20] = "2023-11-16 18:00:00,many,1\n"
    with pytest.raises(TraceError, match="ContextTokens must be a whole number") as caught:
        read_trace(write(HEADER + "".join(rows)))
    assert caught.value.row == 22


@pytest.mark.parametrize("bad", ['{"timestamp": 5, "inp\n', "[1]\n", '{"timestamp": true, "input_length": 5}\n', "x\n"])
def test_a_broken_json_line_among_a_thousand_is_counted(write: Write, bad: str) -> None:
    rows = [MOONCAKE % (i * 1000, i) for i in range(1200)]
    rows[333] = bad
    trace = read_trace(write("".join(rows)))
    assert len(trace) == 1199
    assert sum(trace.facts.dropped.values()) == 1
    assert "line 334" in trace.facts.notes[0]


def test_a_fraction_of_a_token_is_no_length(write: Write) -> None:
    with pytest.raises(TraceError, match="input_length must be a whole number"):
        read_trace(write('{"timestamp": 0, "input_length": 2.5, "output_length": 3}\n'))


def test_bytes_that_are_no_text_are_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = [row.encode() for row in azure_rows(1100)]
    rows[50] = b"2023-11-16 18:00:00,\xff\xfe,1\n"
    path.write_bytes(HEADER.encode() + b"".join(rows))
    assert read_trace(path).facts.dropped == {"ContextTokens unreadable": 1}


def test_a_quoted_field_may_run_over_lines_and_blocks(tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    path.write_text('a,b\n1,"x\ny, ""z""\n\n"\n2,w\n')
    blocks = list(read_line_blocks(path, has_quotes=True, block_bytes=7))
    assert b"".join(block.data for block in blocks) == path.read_bytes()
    assert [block.first_line for block in blocks] == [1, 2, 6]


def test_a_quote_left_open_is_refused_and_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.readers.line_blocks.MAX_LINE_BYTES", 100)
    path = tmp_path / "open.csv"
    path.write_text('a,b\n1,"x\n' + "2,3\n" * 100)
    with pytest.raises(TraceError, match="quote left open") as caught:
        list(read_line_blocks(path, has_quotes=True, block_bytes=10))
    assert caught.value.row == 2


def test_a_file_of_nothing_but_bad_rows_is_refused_at_once(write: Write) -> None:
    path = write(HEADER + "2023-11-16 18:00:00,many,1\n" * 60_000)
    with pytest.raises(TraceError, match="ContextTokens must be") as caught:
        read_trace(path)
    assert caught.value.row == 2


def test_the_first_bad_row_is_named_whatever_is_wrong_with_it(write: Write) -> None:
    text = HEADER + "2023-11-16 18:00:00,many,1\n2023-11-16 18:00:00,1,1,1\n"
    with pytest.raises(TraceError, match="ContextTokens must be") as caught:
        read_trace(write(text))
    assert caught.value.row == 2
