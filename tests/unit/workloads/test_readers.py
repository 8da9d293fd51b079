import json
import pickle
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from workloads.readers import read_trace, sample
from workloads.trace import TraceError

Write = Callable[[str], Path]
Rows = dict[str, str]


def refusal(path: Path, **options: str) -> TraceError:
    with pytest.raises(TraceError) as caught:
        read_trace(path, **options)  # type: ignore[arg-type]  # options are all strings here
    return caught.value


def test_azure_keeps_the_hundred_nanosecond_digit_and_needs_no_last_newline(rows: Rows, write: Write) -> None:
    trace = read_trace(write(rows["azure2023"]))
    assert trace.facts.format == "azure2023"
    assert trace.arrival_ns.tolist() == [0, 4_314_578_900, 4_541_876_900]
    assert trace.input_tokens.tolist() == [374, 396, 879]
    assert trace.output_tokens.tolist() == [44, 109, 55]


def test_burstgpt_keeps_failed_requests_as_arrivals_and_says_so(rows: Rows, write: Write) -> None:
    trace = read_trace(write(rows["burstgpt"]))
    assert trace.arrival_ns.tolist() == [0, 40 * 10**9, 113 * 10**9]
    assert trace.num_failed == 1
    assert trace.answered().input_tokens.tolist() == [472, 417]
    assert "1 requests failed" in trace.facts.notes[0]


def test_burstgpt_3_is_read_by_column_name(rows: Rows, write: Write) -> None:
    trace = read_trace(write(rows["burstgpt_3"]))
    assert trace.facts.format == "burstgpt"
    assert trace.arrival_ns.tolist() == [0, 40 * 10**9]
    assert trace.output_tokens.tolist() == [18, 276]
    assert trace.rows["session_id"].dtype == pl.UInt64
    assert trace.rows["session_id"].is_null().to_list() == [False, True]
    assert trace.rows["service_ns"].to_list() == [1_500_000_000, 2_000_000_000]


def test_mooncake_keeps_block_ids(rows: Rows, write: Write) -> None:
    trace = read_trace(write(rows["mooncake"]))
    assert trace.facts.format == "mooncake"
    assert trace.facts.block_tokens == 512
    assert trace.arrival_ns.tolist() == [0, 3 * 10**9, 6 * 10**9]
    assert trace.block_ids is not None
    assert trace.block_ids.of(1).tolist() == [0, 2]


def test_mooncake_without_ids_has_no_blocks(write: Write) -> None:
    trace = read_trace(write('{"timestamp": 1.5, "input_length": 3, "output_length": 4, "text_input": "x"}\n'))
    assert trace.block_ids is None
    assert trace.facts.block_tokens is None


def test_mooncake_with_an_empty_prompt_keeps_rows_aligned(write: Write) -> None:
    lines = [
        '{"timestamp": 0, "input_length": 0, "output_length": 1, "hash_ids": []}',
        '{"timestamp": 9, "input_length": 5, "output_length": 1, "hash_ids": [7]}',
    ]
    blocks = read_trace(write("\n".join(lines))).block_ids
    assert blocks is not None
    assert [blocks.of(index).tolist() for index in range(2)] == [[], [7]]


def test_shared_coarse_instants_are_found_to_be_a_grid(write: Write) -> None:
    stamps = [0, 0, 3000, 3000, 3000, 5999, 5999, 9000, 9000, 12000, 12000]
    lines = [f'{{"timestamp": {stamp}, "input_length": 5, "output_length": 4}}' for stamp in stamps]
    facts = read_trace(write("\n".join(lines))).facts
    assert facts.grid_ns == 3 * 10**9
    assert facts.resolution_ns == 10**6
    assert "grid of 3 s" in facts.notes[0]


def test_unsorted_rows_are_sorted_whole_and_counted(write: Write) -> None:
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:02,2,20\n2023-11-16 18:00:01,1,10\n"
        "2023-11-16 18:00:03,3,30\n"
    )
    trace = read_trace(write(text))
    assert trace.input_tokens.tolist() == [1, 2, 3]
    assert trace.output_tokens.tolist() == [10, 20, 30]
    assert trace.arrival_ns.tolist() == [0, 10**9, 2 * 10**9]
    assert "1 rows came before" in trace.facts.notes[0]


@pytest.mark.parametrize(
    ("text", "row", "reason"),
    [
        ("", 1, "empty"),
        ("\n", 1, "empty"),
        ("a,b\n1,2\n", 1, "not recognised"),
        ('[{"id": 1, "conversations": []}]', 1, "not recognised"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", None, "no requests"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.1,374,44\n2023-11-16 18:15", 3, "TIMESTAMP"),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.1,374,44\n2023-11-16 18:15:47,3",
            3,
            "Generated",
        ),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.1,374,many\n", 2, "GeneratedTokens"),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,2\n2023-11-16 18:15:47,1,2,3\n",
            3,
            "more fields",
        ),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46+00:99x,1,2\n", 2, "without an offset"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,-1,2\n", 2, "between 0 and"),
        ("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\nnan,m,1,2,3,x\n", 2, "Timestamp"),
        (
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n1,m,1,2,3,x\n5,m,417,276,69",
            3,
            "Log Type",
        ),
        ('{"timestamp": 0, "input_length": 6, "output_length": 5}\n{"timestamp": 1, "input_le', 2, "no JSON object"),
        ('{"timestamp": 0, "input_length": 6, "output_length": 5}\n{"timestamp": 1}\n', 2, "input_length must be"),
        ('{"timestamp": 0, "input_length": 6, "output_length": 5, "hash_ids": [1, 2]}\n', 1, "hash_ids has 2 ids"),
        ('{"timestamp": 0, "input_length": 6', 1, "no whole JSON object"),
    ],
)
def test_bad_files_are_refused_by_row_and_reason(text: str, row: int | None, reason: str, write: Write) -> None:
    error = refusal(write(text))
    assert reason in str(error)
    assert error.row == row
    assert error.advice


def test_binary_and_missing_files_are_refused(tmp_path: Path) -> None:
    packed = tmp_path / "trace.csv.gz"
    packed.write_bytes(b"\x1f\x8b\x08\x00\xff\xfe\x00\x00\n")
    assert "binary" in str(refusal(packed))
    assert "cannot be opened" in str(refusal(tmp_path / "absent.csv"))
    assert "cannot be opened" in str(refusal(tmp_path))


def test_a_file_of_another_format_than_expected_is_refused(rows: Rows, write: Write) -> None:
    path = write(rows["azure2023"])
    assert "it is azure2023" in str(refusal(path, format="mooncake"))
    assert "unknown" in str(refusal(path, format="azure"))
    assert len(read_trace(path, format="azure2023")) == 3


def test_seconds_read_as_milliseconds_are_questioned_until_the_unit_is_named(write: Write) -> None:
    lines = [f'{{"timestamp": {i / 5}, "input_length": 5, "output_length": 4}}' for i in range(50)]
    path = write("\n".join(lines))
    error = refusal(path)
    assert "outside the plausible" in error.reason
    assert "?" in error.advice
    trace = read_trace(path, unit="s")
    assert trace.span_ns == 9_800_000_000


def test_milliseconds_read_as_seconds_are_questioned(write: Write) -> None:
    head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    path = write(head + "".join(f"{i * 90_000},m,1,2,3,x\n" for i in range(50)))
    assert "seconds" in refusal(path).reason


def test_errors_survive_a_process_border() -> None:
    error = TraceError("why", path=Path("a"), row=3, advice="do")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "a, line 3: why. do"  # noqa: S301  # our own bytes


def test_digest_tells_rows_apart_and_not_names(rows: Rows, write: Write, tmp_path: Path) -> None:
    first = read_trace(write(rows["mooncake"]))
    other = tmp_path / "other.jsonl"
    other.write_text(rows["mooncake"])
    assert read_trace(other).digest == first.digest
    other.write_text(rows["mooncake"].replace("[0, 2]", "[0, 3]"))
    assert read_trace(other).digest != first.digest
    other.write_text(rows["mooncake"].replace('"output_length": 7', '"output_length": 8'))
    assert read_trace(other).digest != first.digest


def test_a_trace_is_columnar(rows: Rows, write: Write) -> None:
    schema = read_trace(write(rows["mooncake"])).rows.schema
    assert schema["arrival_ns"] == pl.Int64
    assert schema["input_tokens"] == pl.Int32
    assert schema["block_ids"] == pl.List(pl.Int64)


def media_row(**more: object) -> str:
    return json.dumps({"timestamp": 1.5, "input_length": 3, "output_length": 4, **more}) + "\n"


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "image_url"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}, "input_audio"),
        ({"type": "image"}, "image"),
        ({"videos": ["a.mp4"]}, "videos"),
    ],
)
def test_a_row_with_more_than_text_is_refused_by_kind_and_line(
    write: Write, more: dict[str, object], kind: str
) -> None:
    second = refusal(write(media_row() + media_row(**more)))
    assert (second.row, second.reason) == (2, f"content of type {kind}; only text is sent")
    assert refusal(write(media_row(**more))).row == 1


def test_a_first_row_of_another_format_is_refused_for_its_images_first(write: Write) -> None:
    row = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}
    assert "content of type image_url" in str(refusal(write(json.dumps(row) + "\n")))


def test_words_about_media_and_empty_lists_of_them_are_text(write: Write) -> None:
    text = media_row(type="text", images=[], audio=None, prompt='say "image" and "video"', messages=[{"content": "a"}])
    assert len(read_trace(write(text))) == 1


def test_one_line_too_long_to_be_looked_at_whole_is_taken_for_a_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "MAX_FIRST_LINE_BYTES", 64)
    path = tmp_path / "result.json"
    path.write_text('{"itls": [' + ", ".join(["0.01"] * 100) + "]}", encoding="utf-8")
    assert sample.take_sample(path).kind == "document"
