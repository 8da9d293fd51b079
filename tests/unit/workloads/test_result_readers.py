import json
from pathlib import Path
from typing import Any

import pytest

from workloads.model import ComposedArrivals, QuantileLengths
from workloads.readers import read_trace
from workloads.readers.format import ReadOptions
from workloads.readers.servegen import read_windows
from workloads.readers.servegen_mix import bias_of, compose
from workloads.trace import Trace, TraceError

S = 10**9
MS = 10**6
Row = dict[str, Any]


def put(folder: Path, content: object, name: str = "result.json", indent: int | None = None) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=indent))
    return path


def refusal(path: Path) -> TraceError:
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    return caught.value


def bench(**more: Any) -> Row:
    return {
        "date": "20260101-000000",
        "backend": "vllm",
        "model_id": "tiny",
        "num_prompts": 3,
        "total_input_tokens": 30,
        "request_throughput": 1.0,
        "input_lens": [10, 12, 8],
        "output_lens": [3, 0, 1],
        "ttfts": [0.25, 0.0, 0.5],
        "itls": [[0.1, 0.15], [], []],
        "start_times": [1000.5, 1001.25, 1000.0],
        "generated_texts": ["secret", "", "x"],
        "errors": ["", "Traceback: boom", ""],
        **more,
    }


@pytest.mark.parametrize("indent", [None, 2])
def test_vllm_results_are_sorted_by_start_and_failures_have_no_times(indent: int | None, tmp_path: Path) -> None:
    trace = read_trace(put(tmp_path, bench(), indent=indent))
    assert trace.facts.format == "vllm_bench"
    assert trace.arrival_ns.tolist() == [0, S // 2, S * 5 // 4]
    assert trace.input_tokens.tolist() == [8, 10, 0]
    assert trace.output_tokens.tolist() == [1, 3, 0]
    assert trace.rows["is_failed"].to_list() == [False, False, True]
    assert trace.rows["ttft_ns"].to_list() == [500 * MS, 250 * MS, None]
    assert trace.rows["service_ns"].to_list() == [500 * MS, 500 * MS, None]
    assert set(trace.rows["model"]) == {"tiny"}


@pytest.mark.parametrize("missing", ["start_times", "itls", "errors"])
def test_a_vllm_result_without_a_list_is_refused_by_its_name(missing: str, tmp_path: Path) -> None:
    result = bench()
    del result[missing]
    error = refusal(put(tmp_path, result))
    assert f"lacks {missing}" in error.reason
    assert "--save-detailed" in error.advice


def test_vllm_lists_of_different_lengths_and_several_results_are_refused(tmp_path: Path) -> None:
    assert "different lengths" in refusal(put(tmp_path, bench(ttfts=[0.25]))).reason
    several = json.dumps(bench()) + "\n" + json.dumps(bench())
    assert "2 results in one file" in refusal(put(tmp_path, several)).reason


def record(start_ns: int, prompt: int, answer: int, **metadata: Any) -> Row:
    return {
        "metadata": {"x_correlation_id": "c", "request_start_ns": start_ns, "benchmark_phase": "profiling", **metadata},
        "metrics": {
            "input_sequence_length": {"value": prompt, "unit": "tokens"},
            "output_sequence_length": {"value": answer, "unit": "tokens"},
            "time_to_first_token": {"value": 255.5, "unit": "ms"},
            "request_latency": {"value": 1.25, "unit": "sec"},
        },
        "error": None,
    }


def test_aiperf_records_keep_nanoseconds_and_leave_the_warm_up_out(tmp_path: Path) -> None:
    start = 1759813207532900363
    failed = {
        "metadata": {"request_start_ns": start + 7, "was_cancelled": True},
        "metrics": {"error_isl": {"value": 550, "unit": "tokens"}},
        "error": {"code": 499, "type": "RequestCancellationError", "message": "m"},
    }
    rows = [record(start - S, 1, 1, benchmark_phase="warmup"), record(start, 550, 9), failed, record(start + 9, 5, 2)]
    trace = read_trace(put(tmp_path, "\n".join(json.dumps(row) for row in rows), "profile_export.jsonl"))
    assert trace.facts.format == "aiperf"
    assert trace.arrival_ns.tolist() == [0, 7, 9]
    assert trace.input_tokens.tolist() == [550, 0, 5]
    assert trace.rows["ttft_ns"].to_list() == [255_500_000, None, 255_500_000]
    assert trace.rows["service_ns"].to_list() == [1250 * MS, None, 1250 * MS]
    assert trace.facts.dropped == {"warm-up request": 1}


def test_a_run_that_sends_all_at_once_is_no_doubt_about_units(tmp_path: Path) -> None:
    rows = [record(1759813207532900363 + i, 5, 2) for i in range(20)]
    trace = read_trace(put(tmp_path, "\n".join(json.dumps(row) for row in rows)))
    assert trace.span_ns == 19
    assert trace.facts.notes == ()


def test_aiperf_statistics_are_refused(tmp_path: Path) -> None:
    statistics = {"request_latency": {"unit": "ms", "avg": 297.5, "p99": 400.0}, "input_config": {}}
    error = refusal(put(tmp_path, statistics, "profile_export_aiperf.json", indent=2))
    assert "statistics" in error.reason
    assert "profile_export.jsonl" in error.advice


def asked(start: float, prompt: int | None, answer: int | None, first: float | None, last: float | None) -> Row:
    timings = {"request_start": start, "first_token_iteration": first, "last_token_iteration": last}
    return {
        "type_": "generative_request_stats",
        "request_start_time": start,
        "prompt_tokens": prompt,
        "output_tokens": answer,
        "output": "secret",
        "info": {"timings": timings},
    }


def benchmark(successful: list[Row], errored: list[Row], total: int) -> Row:
    return {
        "type_": "generative_benchmark",
        "metrics": {"request_totals": {"total": total}},
        "requests": {"successful": successful, "incomplete": [], "errored": errored},
    }


def report(*benchmarks: Row) -> Row:
    return {"metadata": {"version": 2, "guidellm_version": "0.7.0"}, "benchmarks": list(benchmarks)}


def test_guidellm_benchmarks_are_read_one_after_the_other(tmp_path: Path) -> None:
    base = 1759813200.0
    late = benchmark([asked(base + 100, 20, 5, base + 100.5, base + 102)], [asked(base + 101, 9, None, None, None)], 2)
    early = benchmark([asked(base, 10, 4, base + 0.25, base + 1)], [], 1)
    trace = read_trace(put(tmp_path, report(late, early), indent=1))
    assert trace.facts.format == "guidellm"
    assert trace.arrival_ns.tolist() == [0, 100 * S, 101 * S]
    assert trace.input_tokens.tolist() == [10, 20, 0]
    assert trace.rows["ttft_ns"].to_list() == [250 * MS, 500 * MS, None]
    assert trace.rows["service_ns"].to_list() == [S, 2 * S, None]
    assert any("2 benchmarks one after the other" in note for note in trace.facts.notes)
    assert not any("a sample" in note for note in trace.facts.notes)


def test_a_sampled_guidellm_report_says_that_its_rate_is_too_low(tmp_path: Path) -> None:
    trace = read_trace(put(tmp_path, report(benchmark([asked(1759813200.0, 1, 1, None, None)], [], 50))))
    assert any("lists 1 of 50 requests, a sample" in note for note in trace.facts.notes)


def test_older_guidellm_reports_are_read_too(tmp_path: Path) -> None:
    row = {
        "start_time": 1759813200.0,
        "end_time": 1759813203.0,
        "first_token_time": 1759813200.5,
        "last_token_time": 1759813202.0,
        "prompt_tokens": 7,
        "output_tokens": 3,
    }
    trace = read_trace(
        put(tmp_path, {"benchmarks": [{"type_": "generative_benchmark", "requests": {"successful": [row]}}]})
    )
    assert trace.rows["ttft_ns"].to_list() == [500 * MS]
    assert trace.rows["service_ns"].to_list() == [2 * S]


def test_a_guidellm_report_without_requests_is_refused(tmp_path: Path) -> None:
    assert "without any request" in refusal(put(tmp_path, report(benchmark([], [], 100)))).reason


TABLE = """client_id,window_start_s,rate_rps,cv,pattern,shape,scale
0,0,3.0,2.0,Gamma,0.25,1.3
1,0,1.0,1.0,Weibull,9,9
0,600,1.0,4.0,Gamma,0.1,1
2,1200,5.0,1.0,Gamma,1,1
"""
LENGTHS = [
    {"client_id": 0, "window_start_s": 0, "input_tokens": {"10": 0.5, "20": 0.5}, "output_tokens": {"1": 1.0}},
    {"client_id": 1, "window_start_s": 0, "input_tokens": {"100": 1.0}, "output_tokens": {"7": 1.0}},
    {"client_id": 0, "window_start_s": 600, "input_tokens": {"30": 1.0}, "output_tokens": {"2": 1.0}},
]


def put_table(folder: Path) -> Path:
    put(folder, "\n".join(json.dumps(row) for row in LENGTHS), "m_datasets_day1.jsonl")
    return put(folder, TABLE, "m_traces.csv")


def put_chunks(folder: Path) -> Path:
    put(folder, "0,3.0,2.0,Gamma,0.25,1.3\n600,1.0,4.0,Gamma,0.1,1\n1200,0.0,0.0,,0.0,0.0\n", "chunk-0-trace.csv")
    put(folder, "0,1.0,1.0,Weibull,9,9\n600,0.0,0.0,,0.0,0.0\n1200,0.0,0.0,,0.0,0.0\n", "chunk-1-trace.csv")
    put(folder, "0,0.0,0.0,,0.0,0.0\n600,0.0,0.0,,0.0,0.0\n1200,5.0,1.0,Gamma,1,1\n", "chunk-2-trace.csv")
    for client in (0, 1):
        rows = {
            str(row["window_start_s"]): {
                kind: str({int(length): share for length, share in row[kind].items()})
                for kind in ("input_tokens", "output_tokens")
            }
            for row in LENGTHS
            if row["client_id"] == client
        }
        put(folder, rows, f"chunk-{client}-dataset.json")
    return folder


@pytest.mark.parametrize("put_windows", [put_table, put_chunks])
def test_both_forms_of_servegen_compose_to_the_same_clients_and_lengths(put_windows: Any, tmp_path: Path) -> None:
    windows = read_windows(put_windows(tmp_path))
    assert windows.clients_without_lengths.tolist() == [2]
    assert windows.share_without_lengths == pytest.approx(0.5)
    model = compose(windows, 300, 600)
    assert isinstance(model.arrivals, ComposedArrivals)
    assert isinstance(model.input_tokens, QuantileLengths)
    assert model.rate_rps == pytest.approx((3 * 300 + 1 * 300 + 1 * 300) / 600)
    assert [one.share for one in model.arrivals.clients] == pytest.approx([0.8, 0.2])
    assert [one.cv for one in model.arrivals.clients] == pytest.approx([(2 * 900 + 4 * 300) / 1200, 1.0])
    lengths = dict(zip(model.input_tokens.probabilities, model.input_tokens.tokens, strict=True))
    assert [lengths[p] for p in (0.0, 0.29, 0.31, 0.59, 0.61, 0.79, 0.81, 1.0)] == [10, 10, 20, 20, 30, 30, 100, 100]


def test_what_servegen_does_not_publish_is_said(tmp_path: Path) -> None:
    windows = read_windows(put_table(tmp_path))
    assert any("Weibull parameters contradict" in note for note in bias_of(windows, 0, 600))
    assert any(
        note.startswith("83% of the requests come from 1 clients without") for note in bias_of(windows, 600, 1200)
    )
    with pytest.raises(TraceError, match="no client that sends has published"):
        compose(windows, 1200, 600)
    with pytest.raises(TraceError, match="no client sends between"):
        compose(windows, 1800, 600)


@pytest.mark.parametrize("name", ["m_traces.csv", "m_datasets_day1.jsonl"])
def test_servegen_is_no_trace(name: str, tmp_path: Path) -> None:
    error = refusal(put_table(tmp_path).parent / name)
    assert "windows of ten minutes, not requests" in error.reason
    assert "seatrial synth" in error.advice


def test_a_chunk_of_servegen_is_known_by_its_name(tmp_path: Path) -> None:
    assert "windows of ten minutes" in refusal(put_chunks(tmp_path) / "chunk-0-trace.csv").reason


def test_servegen_with_images_is_refused(tmp_path: Path) -> None:
    put(tmp_path, TABLE, "mm_traces.csv")
    row = {"client_id": 0, "window_start_s": 0, "text_tokens": {"1": 1.0}, "image_tokens": {"500": 1.0}}
    put(tmp_path, json.dumps(row), "mm_datasets.jsonl")
    with pytest.raises(TraceError, match="images"):
        read_windows(tmp_path / "mm_traces.csv")


def test_results_of_every_tool_are_traces_that_can_be_asked_for_by_name(tmp_path: Path) -> None:
    path = put(tmp_path, bench())
    found = read_trace(path, format="vllm_bench", options=ReadOptions())
    assert isinstance(found, Trace)
    assert "it is vllm_bench" in refusal_of(path, "guidellm")


def refusal_of(path: Path, name: str) -> str:
    with pytest.raises(TraceError) as caught:
        read_trace(path, format=name)
    return caught.value.reason
