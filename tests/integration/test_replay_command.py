"""`seatrial replay`, `export` and `import` as a person meets them, against a real simulated server."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.domain.measurement import Measurement
from orchestrator.replay import read_records
from tests.bench.startup import replay_startup
from tests.command_line import ROOT, seatrial

SMALL = ("--input-tokens", "8", "--output-tokens", "4")


@pytest.fixture
def failing_server() -> Iterator[str]:
    argv = [sys.executable, "-m", "adapters.simulated.server", "--port", "0", "--fail-every", "1"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+) with", process.stdout.readline())
            assert found is not None
            yield f"http://127.0.0.1:{found.group(1)}"
        finally:
            process.terminate()


def test_ten_requests_are_ten_with_the_servers_own_figures(server: str, tmp_path: Path) -> None:
    records = tmp_path / "requests.parquet"
    done = seatrial(
        *("replay", "--url", server, *SMALL, "--rate", "20", "--requests", "10", "--records", str(records), "--json"),
        *("--metrics-url", f"{server}/metrics"),
    )
    one = Measurement.model_validate_json(done.stdout)
    assert (one.num_issued, one.num_completed, one.warmup_s) == (10, 10, 0)
    assert one.resources.requests_running_peak is not None
    assert one.resources.kv_cache_utilization_mean is not None
    assert len(read_records(records).records) == 10


def test_a_walk_is_one_measurement_a_load(server: str, tmp_path: Path) -> None:
    records = tmp_path / "records"
    arguments = ("--rate", "10,30", "--requests", "8", "--pattern", "constant", "--no-metrics", "--json")
    done = seatrial("replay", "--url", server, *SMALL, *arguments, "--records", str(records))
    measurements = [Measurement.model_validate_json(line) for line in done.stdout.splitlines()]
    assert [one.offered_rps for one in measurements] == [10, 30]
    assert [one.window_s for one in measurements] == pytest.approx([0.8, 8 / 30])
    assert sorted(path.name for path in records.iterdir()) == ["load-10000.parquet", "load-30000.parquet"]


def test_a_result_goes_out_and_comes_back(server: str, tmp_path: Path) -> None:
    records, result, theirs = tmp_path / "r.parquet", tmp_path / "m.json", tmp_path / "v.json"
    arguments = ("--users", "2", "--requests", "12", "--no-metrics", "--records", str(records), "--json")
    result.write_text(seatrial("replay", "--url", server, *SMALL, *arguments).stdout, encoding="utf-8")
    seatrial("export", str(result), "--to", "vllm-bench", "--records", str(records), "-o", str(theirs))
    assert len(json.loads(theirs.read_text(encoding="utf-8"))["ttfts"]) == 12
    done = seatrial("import", str(theirs), "--against", str(result))
    assert "ttft_s.mean" in done.stdout
    assert "1.000" in done.stdout
    seatrial("export", str(result), "--to", "guidellm", code=2)


def test_a_server_that_fails_every_request_ends_with_4(failing_server: str) -> None:
    done = seatrial("replay", "--url", failing_server, *SMALL, "--rate", "20", "--requests", "5", code=4)
    assert "no request was answered" in done.stderr
    assert "http_status 5" in done.stderr
    assert "5 failed" in done.stdout


def test_ten_requests_do_not_take_long() -> None:
    """A loose bound for busy machines: `make bench` gives the figure, which is to be at most 2 s."""
    took = replay_startup(repeats=1)
    assert 0.18 < took["replay_ten_requests_s"] < 30
