import json
from pathlib import Path

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.interchange.guidellm_report import to_guidellm
from orchestrator.interchange.llmd_report import to_llmd_report
from orchestrator.interchange.vllm_result import to_vllm_bench
from tests.unit.interchange.conftest import Replayed, replayed
from tests.unit.metrics.conftest import make_log, make_record
from workloads.readers import read_trace


def test_vllms_lists_have_one_entry_a_request(small: Replayed) -> None:
    seen = to_vllm_bench(*small, model="m")
    assert seen["ttfts"] == pytest.approx([0.05, 0.04, 0.06, 0])
    assert seen["itls"] == [pytest.approx([0.01, 0.01]), pytest.approx([0.02, 0.03]), pytest.approx([0.001]), []]
    assert seen["latencies"] == pytest.approx([0.07, 0.09, 0.061, 0])
    assert seen["output_lens"] == [3, 3, 2, 0]
    assert seen["errors"] == ["", "", "", "too late"]
    assert (seen["completed"], seen["failed"], seen["num_prompts"], seen["model_id"]) == (3, 1, 4, "m")


def test_vllms_statistics_are_of_the_requests_that_ended_well(small: Replayed) -> None:
    seen = to_vllm_bench(*small)
    assert seen["mean_ttft_ms"] == pytest.approx(50)
    assert seen["median_ttft_ms"] == pytest.approx(50)
    assert seen["p99_ttft_ms"] == pytest.approx(59.8)
    assert seen["mean_tpot_ms"] == pytest.approx((10 + 25 + 1) / 3)
    assert seen["mean_itl_ms"] == pytest.approx((10 + 10 + 20 + 30 + 1) / 5)
    assert seen["max_concurrent_requests"] == 3
    assert seen["total_output_tokens"] == 8


def test_what_a_measurement_withholds_is_absent_in_vllms_form(small: Replayed) -> None:
    seen = to_vllm_bench(small.measurement)
    assert seen["mean_ttft_ms"] == pytest.approx(50)
    assert {"median_ttft_ms", "p99_ttft_ms", "std_ttft_ms", "ttfts"}.isdisjoint(seen)


def test_records_of_another_measurement_are_refused(small: Replayed) -> None:
    with pytest.raises(InputError, match="hold 1 requests"):
        to_vllm_bench(small.measurement, make_log([make_record(0)]))


def test_llmds_report_leaves_out_what_is_withheld(small: Replayed) -> None:
    report = json.loads(json.dumps(to_llmd_report(small.measurement, tool_version="1", model="m"), allow_nan=False))
    aggregate = report["results"]["request_performance"]["aggregate"]
    assert aggregate["latency"]["time_to_first_token"] == {"units": "s", "mean": pytest.approx(0.05)}
    assert aggregate["requests"]["total"] == 4
    assert (aggregate["requests"]["failures"], aggregate["requests"]["incomplete"]) == (1, 0)
    assert report["scenario"]["load"]["standardized"]["rate_qps"] == 10
    assert report["version"] == "0.2"


def test_llmds_report_of_nothing_answered_describes_no_load() -> None:
    failed = replayed([])
    assert "scenario" not in to_llmd_report(failed.measurement, tool_version="1")


def test_equal_measurements_have_equal_ids(small: Replayed) -> None:
    reports = [to_llmd_report(small.measurement, tool_version="1") for _ in range(2)]
    assert reports[0]["run"] == reports[1]["run"]


def test_guidellms_report_lists_requests_by_how_they_ended(small: Replayed) -> None:
    report = json.loads(json.dumps(to_guidellm(*small, model="m", url="http://x"), allow_nan=False))
    (benchmark,) = report["benchmarks"]
    requests = benchmark["requests"]
    assert [len(requests[name]) for name in ("successful", "incomplete", "errored")] == [3, 0, 1]
    assert benchmark["metrics"]["request_totals"] == {"successful": 3, "incomplete": 0, "errored": 1, "total": 4}
    assert requests["errored"][0]["info"]["error"] == "too late"
    assert requests["successful"][1]["time_to_first_token_ms"] == pytest.approx(40)
    assert report["metadata"]["version"] == 2


def test_guidellms_percentiles_are_values_that_were_seen(small: Replayed) -> None:
    report = to_guidellm(*small)
    metrics = report["benchmarks"][0]["metrics"]  # type: ignore[index]
    ttft = metrics["time_to_first_token_ms"]["successful"]
    assert [ttft["percentiles"][name] for name in ("p10", "p50", "p99")] == pytest.approx([40, 50, 60])
    assert ttft["count"] == 3
    gaps = metrics["inter_token_latency_ms"]["successful"]
    assert gaps["mean"] == pytest.approx((10 + 10 + 20 + 30 + 1) / 5)
    assert gaps["count"] == 5


def test_guidellms_concurrency_counts_time() -> None:
    """One request for 5 of 10 s, a second one beside it for 1 s."""
    long = replayed(
        [make_record(0, intended_ms=0, chunks_ms=(5000,)), make_record(1, intended_ms=1000, chunks_ms=(1000,))]
    )
    metrics = to_guidellm(*long)["benchmarks"][0]["metrics"]  # type: ignore[index]
    seen = metrics["request_concurrency"]["successful"]
    assert seen["mean"] == pytest.approx(0.6)
    assert (seen["min"], seen["max"], seen["median"]) == (0, 2, 0)
    assert metrics["requests_per_second"]["successful"]["mean"] == pytest.approx(0.2)


@pytest.mark.parametrize("form", ["vllm_bench", "guidellm"])
def test_an_export_is_a_trace_as_the_tools_own_file_is(form: str, small: Replayed, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    content = to_vllm_bench(*small) if form == "vllm_bench" else to_guidellm(*small)
    path.write_text(json.dumps(content), encoding="utf-8")
    trace = read_trace(path)
    assert (trace.facts.format, len(trace), trace.num_failed) == (form, 4, 1)
    assert trace.arrival_ns.tolist() == pytest.approx([0, 1e8, 2e8, 3e8], abs=1000)
