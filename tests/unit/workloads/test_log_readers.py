import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads.profile.whole import profile_trace
from workloads.readers.access_log import FORMAT as ACCESS_LOG
from workloads.readers.format import Format, ReadOptions
from workloads.readers.litellm import FORMAT as LITELLM
from workloads.readers.log_clock import Clock, RowError, duration_ns
from workloads.readers.messages import texts_of
from workloads.readers.openai_log import FORMAT as OPENAI_LOG
from workloads.readers.otel import FORMAT as OTEL
from workloads.readers.recognition import recognise
from workloads.readers.sample import take_sample
from workloads.readers.sharegpt import FORMAT as SHAREGPT
from workloads.readers.tokens import counter_from
from workloads.trace import Trace, TraceError

S = 10**9
MS = 10**6
Row = dict[str, Any]


def put(folder: Path, content: object, *, name: str = "log.jsonl", is_lines: bool = True) -> Path:
    path = folder / name
    if isinstance(content, str):
        path.write_text(content)
    elif is_lines and isinstance(content, list):
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    else:
        path.write_text(json.dumps(content, indent=1))
    return path


def read(found: Format, path: Path, **options: Any) -> Trace:
    recognised, sample = recognise(path)
    assert recognised.name == found.name
    return found.read(sample, ReadOptions(**options))


def refusal(found: Format, path: Path, **options: Any) -> TraceError:
    with pytest.raises(TraceError) as caught:
        found.read(take_sample(path), ReadOptions(**options))
    return caught.value


def completion(created: int, prompt: int, answer: int, **more: Any) -> Row:
    usage = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": created, "model": "m", "usage": usage, **more}


def test_bare_responses_are_read_in_whole_seconds(tmp_path: Path) -> None:
    rows = [completion(1714564800, 10, 3, user="ann"), completion(1714564803, 20, 4, user="bob")]
    trace = read(OPENAI_LOG, put(tmp_path, rows))
    assert trace.arrival_ns.tolist() == [0, 3 * S]
    assert trace.input_tokens.tolist() == [10, 20]
    assert trace.output_tokens.tolist() == [3, 4]
    assert trace.facts.resolution_ns == S
    assert trace.rows["client_id"].n_unique() == 2
    assert trace.rows["model"].to_list() == ["m", "m"]
    assert any("created (2 rows)" in note for note in trace.facts.notes)


def test_wrapped_rows_are_read_and_failures_kept_as_arrivals(tmp_path: Path) -> None:
    rows = [
        {"timestamp": "2024-05-01T12:00:00.250Z", "request": {"user": "a"}, "response": completion(1, 5, 6)},
        {"timestamp": "2024-05-01T12:00:01.250Z", "status_code": 429, "response": {"error": {"message": "slow down"}}},
        {"timestamp": "2024-05-01T12:00:02.250Z", "response": {"status_code": 200, "body": completion(1, 7, 8)}},
    ]
    trace = read(OPENAI_LOG, put(tmp_path, rows))
    assert trace.arrival_ns.tolist() == [0, S, 2 * S]
    assert trace.facts.resolution_ns == MS
    assert trace.rows["is_failed"].to_list() == [False, True, False]
    assert trace.input_tokens.tolist() == [5, 0, 7]
    assert "1 requests failed at the source" in trace.facts.notes


def test_a_row_without_usage_has_unknown_lengths_and_pieces_of_streams_are_left_out(tmp_path: Path) -> None:
    piece = {"object": "chat.completion.chunk", "created": 1714564801, "usage": None, "choices": []}
    rows = [completion(1714564800, 10, 3), piece, {"object": "chat.completion", "created": 1714564802, "choices": []}]
    trace = read(OPENAI_LOG, put(tmp_path, rows))
    assert trace.facts.dropped == {"piece of a streamed answer": 1}
    assert trace.rows["is_failed"].to_list() == [False, True]
    assert any("1 requests have no token counts" in note for note in trace.facts.notes)


def test_cached_tokens_are_said_as_a_share_of_the_inputs_that_tell(tmp_path: Path) -> None:
    first = completion(1714564800, 100, 3)
    first["usage"]["prompt_tokens_details"] = {"cached_tokens": 25, "audio_tokens": 0}
    trace = read(OPENAI_LOG, put(tmp_path, [first, completion(1714564801, 300, 3)]))
    assert any(
        note.startswith("by the log itself, 25.0% of the input tokens of 1 requests") for note in trace.facts.notes
    )


def test_a_json_array_is_read_like_lines_and_packed_files_too(tmp_path: Path) -> None:
    rows = [completion(1714564800 + i, i, 1) for i in range(5)]
    array = read(OPENAI_LOG, put(tmp_path, rows, is_lines=False))
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(put(tmp_path, rows).read_bytes()))
    assert array.digest == read(OPENAI_LOG, packed).digest


def test_an_array_that_is_cut_off_is_refused_with_its_line(tmp_path: Path) -> None:
    text = json.dumps([completion(1714564800, 1, 1), completion(1714564801, 1, 1)], indent=1)
    error = refusal(OPENAI_LOG, put(tmp_path, text[: text.rindex('"created"')]))
    assert "breaks off" in error.reason
    assert error.row is not None
    assert error.row > 10


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"created": 12}, "no time since 1970"),
        ({"created": None}, "it has no time"),
        ({"created": 1714564800000}, "not in seconds since 1970"),
        ({"created": "2024-05-01T12:00:00Z"}, "written in another way"),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": 1}}, "usage.prompt_tokens must be"),
        ({"usage": {"prompt_tokens": "many", "completion_tokens": 1}}, "usage.prompt_tokens must be"),
        ({"usage": {"prompt_tokens": 1, "completion_tokens": 1.5}}, "usage.completion_tokens must be"),
        ({"usage": {"prompt_tokens": True, "completion_tokens": 1}}, "usage.prompt_tokens must be"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_by_line(change: Row, reason: str, tmp_path: Path) -> None:
    path = put(tmp_path, [completion(1714564800, 1, 1), completion(1714564801, 1, 1) | change])
    error = refusal(OPENAI_LOG, path)
    assert reason in error.reason
    assert error.row == 2


def test_unreadable_rows_are_counted_and_tolerated_up_to_the_stated_share(tmp_path: Path) -> None:
    rows = [json.dumps(completion(1714564800 + i, 1, 1)) for i in range(20)]
    path = put(tmp_path, "\n".join([*rows[:7], '{"created": 17145', "[1]", *rows[7:]]))
    trace = read(OPENAI_LOG, path, max_bad_ratio=0.1)
    assert len(trace) == 20
    assert trace.facts.dropped == {"unreadable": 2}
    assert any("2 of 22 rows cannot be read and were left out, the first in line 8" in one for one in trace.facts.notes)
    error = refusal(OPENAI_LOG, path, max_bad_ratio=0.05)
    assert error.row == 8
    assert "2 of 22 rows are unreadable" in error.reason


def test_more_than_text_is_refused_by_name_and_line(tmp_path: Path) -> None:
    parts = [{"type": "image_url", "image_url": {"url": "x"}}]
    rows = [completion(1714564800, 1, 1), completion(1714564801, 1, 1, messages=[{"role": "user", "content": parts}])]
    error = refusal(OPENAI_LOG, put(tmp_path, rows))
    assert "image_url" in error.reason
    assert error.row == 2


def test_texts_are_counted_and_chained_where_a_tokenizer_is_given(tmp_path: Path, tokenizer_path: Path) -> None:
    counter = counter_from(tokenizer_path)
    system = "bamention " * 40
    rows = [
        completion(
            1714564800 + i,
            999,
            5,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
        )
        for i, question in enumerate(("foction", "goness", "foction"))
    ]
    trace = read(OPENAI_LOG, put(tmp_path, rows), count_tokens=counter, salt=b"s")
    blocks = trace.block_ids
    assert blocks is not None
    assert trace.facts.block_tokens == 16
    assert trace.input_tokens.tolist() == [sum(counter([system, one])) for one in ("foction", "goness", "foction")]
    assert blocks.counts.tolist() == [-(-tokens // 16) for tokens in trace.input_tokens.tolist()]
    assert blocks.of(0).tolist() == blocks.of(2).tolist() != blocks.of(1).tolist()
    assert blocks.of(0)[0] == blocks.of(1)[0]
    assert "text" not in trace.rows.columns
    other = read(OPENAI_LOG, put(tmp_path, rows), count_tokens=counter, salt=b"t").block_ids
    assert other is not None
    assert not set(other.values.tolist()) & set(blocks.values.tolist())


def test_progress_is_told_in_bytes_of_the_file(tmp_path: Path) -> None:
    path = put(tmp_path, [completion(1714564800 + i, 1, 1) for i in range(4100)])
    told: list[tuple[int, int]] = []
    read(OPENAI_LOG, path, progress=lambda done, total: told.append((done, total)))
    assert len(told) == 1
    assert 0 < told[0][0] <= told[0][1] == path.stat().st_size


@pytest.mark.parametrize(
    ("row", "prompt", "answer"),
    [
        ({"prompt": "a b", "choices": [{"text": "c"}, {"text": "d"}]}, ("a b",), "c"),
        ({"request": {"messages": [{"content": "a"}, {"content": None}]}, "response": {"choices": []}}, ("a",), None),
        (
            {"instructions": "a", "input": [{"content": [{"type": "input_text", "text": "b"}]}], "output": "c"},
            ("a", "b"),
            "c",
        ),
        (
            {
                "input": "a",
                "output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": [{"text": "b"}]}],
            },
            ("a",),
            "b",
        ),
    ],
)
def test_texts_are_found_in_each_form_of_the_api(row: Row, prompt: tuple[str, ...], answer: str | None) -> None:
    assert texts_of(row, ("request", "response")) == (prompt, answer)


def test_a_row_without_a_prompt_has_no_texts() -> None:
    assert texts_of({"choices": [{"text": "c"}]}, ()) is None


def test_text_is_kept_only_when_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, [completion(1714564800, 1, 1, messages=[{"role": "user", "content": "hello"}])])
    assert "text" not in read(OPENAI_LOG, path).rows.columns
    assert read(OPENAI_LOG, path, keep_text=True).rows["text"].to_list() == ["hello"]


def spend(start: str, end: str, **more: Any) -> Row:
    row = {
        "request_id": "r",
        "call_type": "acompletion",
        "api_key": "hash1",
        "prompt_tokens": 9,
        "completion_tokens": 4,
    }
    return {**row, "startTime": start, "endTime": end, "completionStartTime": None, "user": "u", "end_user": "", **more}


LITELLM_ROWS = [
    spend("2024-05-01T12:00:00.000Z", "2024-05-01T12:00:02.000Z", completionStartTime="2024-05-01T12:00:00.500Z"),
    spend("2024-05-01T12:00:01.000Z", "2024-05-01T12:00:03.000Z", completionStartTime="2024-05-01T12:00:03.000Z"),
    spend("2024-05-01T12:00:02.000Z", "2024-05-01T12:00:02.100Z", status="failure", prompt_tokens=0, session_id="s"),
    spend("2024-05-01T12:00:02.500Z", "2024-05-01T12:00:02.600Z", call_type="aembedding"),
    spend("2024-05-01T12:00:03.000Z", "2024-05-01T12:00:04.000Z", cache_hit="True", metadata='{"status": "success"}'),
]


@pytest.mark.parametrize("is_lines", [True, False])
def test_litellm_rows_give_arrivals_ttft_service_and_failures(is_lines: bool, tmp_path: Path) -> None:  # noqa: FBT001
    trace = read(LITELLM, put(tmp_path, LITELLM_ROWS, is_lines=is_lines))
    assert trace.arrival_ns.tolist() == [0, S, 2 * S, 3 * S]
    assert trace.rows["is_failed"].to_list() == [False, False, True, False]
    assert trace.rows["ttft_ns"].to_list() == [500 * MS, None, None, None]
    assert trace.rows["service_ns"].to_list() == [2 * S, 2 * S, 100 * MS, S]
    assert trace.rows["session_id"].null_count() == 3
    assert trace.rows["client_id"].n_unique() == 1
    assert trace.facts.dropped == {"call that generates no text": 1}
    assert any("1 requests were answered from LiteLLM's own response cache" in one for one in trace.facts.notes)


def test_a_csv_export_of_litellm_is_read_as_utc(tmp_path: Path) -> None:
    text = (
        "request_id,startTime,endTime,completionStartTime,model,prompt_tokens,completion_tokens,metadata,status\r\n"
        'a,2024-05-01 12:00:00.123,2024-05-01 12:00:01,,gpt,12,3,"{""a"": ""x\ny""}",success\r\n'
        "b,2024-05-01 12:00:01.123,2024-05-01 12:00:02,,gpt,0,0,{},failure\r\n"
    )
    trace = read(LITELLM, put(tmp_path, text, name="spend.csv"))
    assert trace.arrival_ns.tolist() == [0, S]
    assert trace.input_tokens.tolist() == [12, 0]
    assert trace.num_failed == 1
    assert "times carry no zone and were read as UTC" in trace.facts.notes
    error = refusal(LITELLM, put(tmp_path, text + "c,2024-05-01", name="spend.csv"))
    assert error.row == 5


def span(name: str, start_ms: int, end_ms: int, parent: str = "", **attributes: Any) -> Row:
    values = [
        {
            "key": key.replace("__", "."),
            "value": {"intValue": str(one)} if isinstance(one, int) else {"stringValue": one},
        }
        for key, one in attributes.items()
    ]
    base = 1714564800000
    return {
        "spanId": name,
        "parentSpanId": parent,
        "startTimeUnixNano": str((base + start_ms) * MS),
        "endTimeUnixNano": str((base + end_ms) * MS),
        "attributes": values,
        "status": {},
    }


def usage(prompt: int, answer: int) -> Row:
    return {"gen_ai__usage__input_tokens": prompt, "gen_ai__usage__output_tokens": answer}


SPANS = [
    span("agent", 0, 9000, gen_ai__operation__name="invoke_agent", **usage(30, 10)),
    span("wrapper", 900, 3100, "agent", **usage(10, 4)),
    span("call", 1000, 3000, "wrapper", gen_ai__operation__name="chat", gen_ai__request__model="m", **usage(10, 4)),
    span("tool", 3000, 3500, "agent", gen_ai__operation__name="execute_tool"),
    span("http", 3000, 3500, "agent"),
    span("old", 4000, 5000, "agent", gen_ai__usage__prompt_tokens=20, gen_ai__usage__completion_tokens=6),
    span("lost", 6000, 6100, "agent", gen_ai__operation__name="chat", error__type="timeout"),
]


@pytest.mark.parametrize("is_lines", [True, False])
def test_only_calls_of_a_model_count_among_spans(is_lines: bool, tmp_path: Path) -> None:  # noqa: FBT001
    export = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": SPANS}]}]}
    trace = read(OTEL, put(tmp_path, [export] if is_lines else export, is_lines=is_lines))
    assert trace.arrival_ns.tolist() == [0, 3 * S, 5 * S]
    assert trace.input_tokens.tolist() == [10, 20, 0]
    assert trace.output_tokens.tolist() == [4, 6, 0]
    assert trace.rows["is_failed"].to_list() == [False, False, True]
    assert trace.rows["service_ns"].to_list() == [2 * S, S, 100 * MS]
    assert trace.facts.dropped == {
        "span of another operation than a model call": 2,
        "span around another model call": 1,
        "span without token usage": 1,
    }


def test_flat_spans_of_other_exporters_are_read(tmp_path: Path) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}
    rows = [
        {"name": "chat", "context": {"span_id": "1"}, "start_time": "2024-05-01T12:00:00.5Z", "attributes": attributes},
        {"name": "chat", "context": {"span_id": "2"}, "start_time": "2024-05-01T12:00:01.5Z", "attributes": attributes},
    ]
    trace = read(OTEL, put(tmp_path, rows))
    assert trace.arrival_ns.tolist() == [0, S]
    dotted = [{"start_time": "2024-05-01T12:00:00Z", **{f"attributes.{key}": one for key, one in attributes.items()}}]
    assert read(OTEL, put(tmp_path, dotted)).input_tokens.tolist() == [5]


def nginx(msec: str, request_time: str, **more: Any) -> Row:
    row = {"msec": msec, "request_time": request_time, "status": "200", "remote_addr": "10.0.0.1"}
    return {**row, "request_method": "POST", "uri": "/v1/chat/completions", **more}


def test_nginx_arrivals_are_ends_less_durations_and_lengths_stay_unknown(tmp_path: Path) -> None:
    rows = [
        nginx("1714564801.500", "1.500"),
        nginx("1714564801.600", "0.100", uri="/metrics", request_method="GET"),
        nginx("1714564804.250", "4.000", remote_addr="10.0.0.2", status="502"),
    ]
    trace = read(ACCESS_LOG, put(tmp_path, rows))
    assert trace.arrival_ns.tolist() == [0, 250 * MS]
    assert trace.rows["service_ns"].to_list() == [1500 * MS, 4 * S]
    assert trace.rows["is_failed"].all()
    assert trace.facts.resolution_ns == MS
    assert trace.facts.dropped == {"request to another path than one that generates": 1}
    assert any("writes when a request ends" in note for note in trace.facts.notes)
    assert any("arrivals only" in note for note in trace.facts.notes)
    assert any("1 requests failed at the source" in note for note in trace.facts.notes)


def test_mapped_token_fields_give_an_access_log_lengths(tmp_path: Path) -> None:
    rows = [
        nginx("1714564801.5", "1.5", tokens={"in": "12", "out": 3}),
        nginx("1714564802.5", "1.5", tokens={"in": "-", "out": "-"}),
    ]
    mapping = {"input_tokens": "tokens.in", "output_tokens": "tokens.out"}
    trace = read(ACCESS_LOG, put(tmp_path, rows), mapping=mapping)
    assert trace.input_tokens.tolist() == [12, 0]
    assert trace.rows["is_failed"].to_list() == [False, True]
    assert not any("arrivals only" in note for note in trace.facts.notes)


def test_envoy_times_are_starts(tmp_path: Path) -> None:
    rows = [
        {
            "start_time": f"2024-05-01T12:00:0{i}.000Z",
            "duration": 1500,
            "response_code": code,
            "path": "/generate",
            "downstream_remote_address": f"10.0.0.1:{4000 + i}",
        }
        for i, code in ((0, 200), (1, 0), (2, "503"))
    ]
    trace = read(ACCESS_LOG, put(tmp_path, rows))
    assert trace.arrival_ns.tolist() == [0, S, 2 * S]
    assert trace.rows["service_ns"].to_list() == [1500 * MS] * 3
    assert "2 requests failed at the source" in trace.facts.notes
    assert trace.rows["client_id"].n_unique() == 1


def test_a_profile_of_arrivals_alone_says_nothing_of_lengths(tmp_path: Path) -> None:
    rows = [nginx(f"{1714564801 + i / 2}", "0.25") for i in range(12)]
    profile = profile_trace(read(ACCESS_LOG, put(tmp_path, rows)))
    assert profile.rate_rps == pytest.approx(2)
    assert profile.num_failed == 12
    assert profile.answered_input_tokens is None
    assert profile.input_distribution is None
    assert profile.traffic is None


def test_a_mapped_arrival_is_the_arrival_itself(tmp_path: Path) -> None:
    rows = [nginx("1714564809", "4", began="1714564801.5"), nginx("1714564809", "1", began="1714564803.0")]
    trace = read(ACCESS_LOG, put(tmp_path, rows), mapping={"arrival_ns": "began"})
    assert trace.arrival_ns.tolist() == [0, 1500 * MS]
    assert not any("when a request ends" in note for note in trace.facts.notes)


def test_a_mapping_of_fields_that_are_not_there_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, [nginx("1714564801.5", "1.5", tokens={"in": 12, "out": 3})])
    assert "no field tokens.inn" in refusal(ACCESS_LOG, path, mapping={"input_tokens": "tokens.inn"}).reason
    assert "not asked for ttft_ms" in refusal(ACCESS_LOG, path, mapping={"ttft_ms": "tokens.in"}).reason


def test_nginx_without_request_time_is_refused(tmp_path: Path) -> None:
    rows = [{"time_iso8601": "2024-05-01T12:00:00+02:00", "status": "200", "uri": "/v1/completions"}]
    error = refusal(ACCESS_LOG, put(tmp_path, rows))
    assert "nobody knows when it began" in error.reason
    assert "$request_time" in error.advice


CONVERSATIONS = [
    {
        "id": "one",
        "conversations": [
            {"from": "human", "value": "bamention foction"},
            {"from": "gpt", "value": "goness"},
            {"from": "human", "value": "dument"},
            {"from": "gpt", "value": "cection foness"},
        ],
    },
    {"id": "two", "conversations": [{"from": "gpt", "value": "bament"}, {"from": "human", "value": "dument"}]},
    {"id": "three", "conversations": [{"from": "human", "value": "dument"}, {"from": "gpt", "value": ""}]},
]


def test_each_answer_of_sharegpt_is_a_request_behind_all_that_was_said(tmp_path: Path, tokenizer_path: Path) -> None:
    count = counter_from(tokenizer_path)
    trace = read(SHAREGPT, put(tmp_path, CONVERSATIONS, is_lines=False), count_tokens=count)
    first, second, answer = count(["bamention foction", "goness", "dument"])
    assert trace.input_tokens.tolist() == [first, first + second + answer, answer]
    assert trace.output_tokens.tolist() == [second, *count(["cection foness"]), 0]
    assert trace.num_failed == 0
    assert trace.rows["session_id"].n_unique() == 2
    assert np.count_nonzero(trace.arrival_ns) == 0
    assert trace.facts.dropped == {"answer without a prompt before it": 1}
    assert any("no times" in note for note in trace.facts.notes)
    assert trace.block_ids is not None


def test_a_profile_without_times_names_no_rate(tmp_path: Path) -> None:
    path = put(tmp_path, CONVERSATIONS, is_lines=False)
    profile = profile_trace(read(SHAREGPT, path, count_tokens=lambda texts: [len(one) for one in texts]))
    assert profile.rate_rps is None
    assert profile.arrivals.cv is None
    assert profile.spectrum is None
    assert profile.sessions is not None
    assert profile.sessions.num_sessions == 2


def test_sharegpt_without_a_tokenizer_is_refused_and_any_counter_will_do(tmp_path: Path) -> None:
    path = put(tmp_path, CONVERSATIONS, is_lines=False)
    assert "tokenizer" in refusal(SHAREGPT, path).advice
    trace = read(SHAREGPT, path, count_tokens=lambda texts: [len(one) for one in texts])
    assert trace.input_tokens.tolist() == [17, 29, 6]
    assert trace.block_ids is None


def test_a_clock_keeps_every_digit_and_knows_offsets() -> None:
    assert Clock().read("2024-05-01T12:00:00.123456789+02:00") == 1714557600123456789
    assert Clock().read("1714564800.123456") == Clock().read(1714564800123456) == 1714564800123456000
    clock = Clock(zone="Europe/Berlin")
    assert clock.read("2024-05-01 12:00:00") == 1714557600 * S
    assert clock.notes() == ()
    with pytest.raises(RowError, match="has a zone"):
        clock.read("2024-05-01T12:00:00Z")
    with pytest.raises(RowError, match="does not exist"):
        Clock().read("2024-02-31 12:00:00")
    assert Clock(unit="ms").read("12.5") == 12_500_000


@pytest.mark.parametrize(
    ("value", "expected"), [("1.234", 1234 * MS), (2, 2 * S), ("-", None), (None, None), (5e-7, 500)]
)
def test_durations_are_exact(value: object, expected: int | None) -> None:
    assert duration_ns(value, "s") == expected


@pytest.mark.parametrize("value", ["-1", "soon", True, float("nan"), float("inf")])
def test_a_duration_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(RowError):
        duration_ns(value, "s")
