"""From a profile to more traffic and back: made, read, profiled, verified. Real commands, a simulated server."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.domain.study import StudySpec
from tests.command_line import seatrial
from tests.integration.test_cli import STUDY
from workloads.readers import read_trace
from workloads.workload import ProfileSource, Workload

RATE_RPS, DURATION_S = 4.0, 400.0


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make 400 s of published chat traffic: the trace that these tests profile."""
    path = tmp_path_factory.mktemp("made") / "chat.parquet"
    seatrial("synth", "chat", "--trace", str(path), "--rate", str(RATE_RPS), "--duration", str(DURATION_S))
    return path


@pytest.fixture(scope="module")
def profile(trace: Path) -> Path:
    path = trace.with_name("profile.yaml")
    seatrial("profile", str(trace), "-o", str(path))
    return path


def rows_of(text: str) -> dict[str, dict[str, Any]]:
    return {row["trait"]: row for row in json.loads(text)["traits"]["rows"]}


def test_made_traffic_is_a_trace_like_any_other(trace: Path) -> None:
    read = read_trace(trace)
    assert read.facts.format == "synthetic"
    assert len(read) == pytest.approx(RATE_RPS * DURATION_S, rel=0.1)


def test_a_twin_of_the_profile_is_like_its_trace(trace: Path, profile: Path) -> None:
    done = seatrial("verify", str(trace), str(profile), "--twins", "3", "--json")
    rows = rows_of(done.stdout)
    assert {
        "input tokens P50",
        "output tokens P99",
        "Fano factor at 10 s",
        "gap CV",
        "block reuse ratio",
    } <= rows.keys()
    assert all(row["passes"] for row in rows.values())


def test_the_twin_of_another_profile_is_not_and_the_traits_are_named(
    trace: Path, profile: Path, tmp_path: Path
) -> None:
    content = yaml.safe_load(profile.read_text(encoding="utf-8"))
    inputs = content["traffic"]["input_tokens"]
    inputs["tokens"] = [2 * one for one in inputs["tokens"]]
    twisted = tmp_path / "twisted.yaml"
    twisted.write_text(yaml.safe_dump(content), encoding="utf-8")
    done = seatrial("verify", str(trace), str(twisted), "--twins", "3", code=4)
    assert "input tokens P50" in done.stderr
    assert "output tokens P50" not in done.stderr


def test_a_workload_of_a_profile_with_a_knob_stands_in_a_study(profile: Path, tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    seatrial("synth", str(profile), "-o", str(path), "--knob", "input_scale=2", "--knob", "burst.at_s=1",
             "--knob", "burst.width_s=2", "--knob", "burst.height=3")  # fmt: skip
    workload = yaml.safe_load(path.read_text(encoding="utf-8"))
    study = StudySpec.model_validate({**STUDY, "workload": workload})
    assert study.workload.source.kind == "profile"
    assert study.workload.source.knobs.input_scale == 2
    assert study.workload.source.knobs.burst is not None


def test_servegens_clients_are_composed_into_a_workload(tmp_path: Path) -> None:
    header = "client_id,window_start_s,rate_rps,cv,pattern,shape,scale"
    windows = tmp_path / "small_traces.csv"
    windows.write_text(f"{header}\n0,0,2.0,3.0,Gamma,1,1\n1,0,1.0,1.0,Gamma,1,1\n", encoding="utf-8")
    lengths = {"client_id": 0, "window_start_s": 0, "input_tokens": {"50": 1.0}, "output_tokens": {"7": 1.0}}
    (tmp_path / "small_datasets.jsonl").write_text(json.dumps(lengths) + "\n", encoding="utf-8")
    path = tmp_path / "workload.yaml"
    done = seatrial("synth", str(windows), "--span", "600", "-o", str(path), "--seed", "3")
    assert "without published lengths" in done.stderr
    workload = Workload.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert isinstance(workload.source, ProfileSource)
    assert workload.source.traffic is not None
    assert workload.source.traffic.rate_rps == 3.0
    assert workload.seed == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chat", "--knob", "inptu_scale=2"), "known: time_compression"),
        (("chat", "--knob", "input_scale"), "expected name=value"),
        (("chat", "--knob", "input_scale=-1"), "greater than 0"),
        (("chta",), "no published workload"),
        (("chat", "--trace", "made.parquet"), "give --rate and --duration"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(arguments: tuple[str, ...], said: str) -> None:
    assert said in seatrial("synth", *arguments, code=2).stderr


def test_trace_and_twin_are_replayed_on_a_server(trace: Path, server: str) -> None:
    arguments = ("--url", server, "--start", "10", "--duration", "12", "--time-factor", "3", "--length-factor", "0.02")
    done = seatrial("verify", str(trace), *arguments, "--repeats", "3", "--twins", "1", "--json", code=None)
    replay = json.loads(done.stdout)["replay"]
    assert (replay["server"], replay["repeats"]) == ("simulated", 3)
    assert {one["figure"] for one in replay["figures"]} == {"ttft_s", "itl_s", "in_flight"}
    assert all(one["num_twin"] > 20 and 0 <= one["twin"] <= 1 for one in replay["figures"])
