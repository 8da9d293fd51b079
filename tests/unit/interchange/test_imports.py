from typing import Any

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.interchange.guidellm_report import to_guidellm
from orchestrator.interchange.recognition import read_foreign
from orchestrator.interchange.vllm_result import to_vllm_bench
from tests.unit.interchange.conftest import Replayed

VLLM: dict[str, Any] = {
    "request_rate": 4.0,
    "max_concurrency": None,
    "num_prompts": 10,
    "duration": 2.5,
    "completed": 9,
    "failed": 1,
    "request_throughput": 3.6,
    "output_throughput": 57.6,
    "total_output_tokens": 144,
    "request_goodput": None,
    "mean_ttft_ms": 20.0,
    "median_ttft_ms": 19.0,
    "p99_ttft_ms": 30.0,
    "mean_itl_ms": 5.0,
}
AIPERF: dict[str, Any] = {
    "schema_version": "1.4",
    "aiperf_version": "0.13.0",
    "request_throughput": {"unit": "requests/sec", "avg": 4.0},
    "request_latency": {"unit": "ms", "avg": 100.0, "p50": 90.0, "p99": 200.0, "count": 10},
    "time_to_first_token": {"unit": "ms", "avg": 20.0, "p50": 19.0, "count": 10},
    "inter_token_latency": {"unit": "ms", "avg": 5.0, "count": 10},
    "inter_chunk_latency": {"unit": "fortnights", "avg": 5.0},
    "request_count": {"unit": "requests", "avg": 10.0},
    "error_summary": [],
    "effective_concurrency": {"unit": "requests", "avg": 2.0},
}


def test_vllms_gap_between_chunks_is_not_taken_for_itl() -> None:
    (one,) = read_foreign(VLLM, "v.json")
    assert one.itl_s is None
    assert one.chunk_gap_s is not None
    assert one.chunk_gap_s.mean == pytest.approx(0.005)
    assert one.chunk_gap_s.count is None
    assert one.ttft_s is not None
    assert (one.ttft_s.p50, one.ttft_s.p90, one.ttft_s.count) == (pytest.approx(0.019), None, 9)
    assert one.output_tokens is not None
    assert (one.output_tokens.mean, one.output_tokens.p50) == (16, None)
    assert (one.mode, one.offered_rps, one.num_failed) == ("open", 4, 1)


def test_zeros_of_a_run_without_answers_are_no_figures() -> None:
    (one,) = read_foreign(VLLM | {"completed": 0, "mean_ttft_ms": 0.0}, "v.json")
    assert one.ttft_s is None
    assert one.num_completed == 0
    assert any("no request completed" in note for note in one.notes)


def test_an_unbounded_rate_with_a_cap_is_a_closed_loop() -> None:
    (one,) = read_foreign(VLLM | {"request_rate": "inf", "max_concurrency": 8}, "v.json")
    assert (one.mode, one.users, one.offered_rps) == ("closed", 8, None)
    (capped,) = read_foreign(VLLM | {"max_concurrency": 8}, "v.json")
    assert (capped.mode, capped.users) == ("open", None)
    assert any("upper bound" in note for note in capped.notes)


def test_keys_that_nobody_reads_are_listed() -> None:
    (one,) = read_foreign(VLLM | {"spec_decode_acceptance_rate": 0.5}, "v.json")
    assert one.not_understood == ("spec_decode_acceptance_rate",)


def test_aiperfs_itl_is_a_requests_own_mean() -> None:
    (one,) = read_foreign(AIPERF, "a.json")
    assert one.itl_s is None
    assert one.tpot_s is not None
    assert one.tpot_s.mean == pytest.approx(0.005)
    assert one.e2e_s is not None
    assert (one.e2e_s.p99, one.e2e_s.p999) == (pytest.approx(0.2), None)
    assert (one.tool_version, one.num_issued, one.requests_per_s) == ("0.13.0", 10, 4)


def test_an_unknown_unit_is_not_guessed() -> None:
    (one,) = read_foreign(AIPERF, "a.json")
    assert one.chunk_gap_s is None
    assert "inter_chunk_latency (in fortnights)" in one.not_understood
    assert "effective_concurrency" in one.not_understood


def test_errors_that_are_not_counted_stay_unknown() -> None:
    (one,) = read_foreign({key: value for key, value in AIPERF.items() if key != "error_summary"}, "a.json")
    assert (one.num_completed, one.num_failed, one.num_issued) == (10, None, None)


def test_a_newer_version_is_said() -> None:
    (one,) = read_foreign(AIPERF | {"schema_version": "2.0"}, "a.json")
    assert any("2.0" in note for note in one.notes)


def test_our_own_exports_come_back(small: Replayed) -> None:
    measurement = small.measurement
    (vllm,) = read_foreign(to_vllm_bench(*small), "v.json")
    (guidellm,) = read_foreign(to_guidellm(*small), "g.json")
    for one in (vllm, guidellm):
        assert one.ttft_s is not None
        assert one.ttft_s.mean == pytest.approx(measurement.ttft_s.mean)
        assert (one.num_issued, one.num_failed) == (4, 1)
        assert one.window_s == measurement.window_s
    assert vllm.tpot_s is not None
    assert vllm.tpot_s.mean == pytest.approx(measurement.tpot_s.mean)
    assert guidellm.itl_s is not None
    assert guidellm.itl_s.mean == pytest.approx(measurement.itl_s.mean)
    assert guidellm.mode == "open"


@pytest.mark.parametrize("document", [{}, [], {"benchmarks": []}, "text", {"completed": 1}])
def test_a_stranger_is_refused_and_the_known_are_named(document: object) -> None:
    with pytest.raises(InputError, match="GuideLLM"):
        read_foreign(document, "x.json")
