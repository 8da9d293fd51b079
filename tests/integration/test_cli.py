"""The command line as a person meets it: what it prints, where, and how it ends. Real servers, no Ray."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.domain.measurement import Measurement
from tests.command_line import ROOT, command, environment, seatrial

STUDY: dict[str, Any] = {
    "name": "cli",
    "model": {"name": "none", "variant": "none"},
    "engines": [{"name": "simulated", "search": {"max_running": [1, 8]}}],
    "workload": {"source": {"kind": "fixed", "input_tokens": 8, "output_tokens": 4}},
    "load": {"rates_rps": [10, 20]},
    "window": {"warmup_s": 0.2, "measure_s": 1.5, "drain_s": 2},
    "slo": {"ttft_s": 1},
    "budget": {"trials": 3},
    "search": {"prune": False},
    "deploy": {"deployer": "local"},
}


def study_file(folder: Path, **changes: Any) -> str:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(STUDY | changes), encoding="utf-8")
    return str(path)


def journal(store: Path) -> list[dict[str, Any]]:
    (path,) = [one for one in store.glob("studies/*/journal*") if one.is_file()]
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_replay_prints_the_published_measurement(server: str) -> None:
    arguments = ("--rate", "20", "--duration", "2", "--warmup", "0.2", "--input-tokens", "8", "--output-tokens", "5")
    done = seatrial("replay", "--url", server, *arguments, "--pattern", "constant", "--slo-ttft", "1", "--json")
    seen = json.loads(done.stdout)
    one = Measurement.model_validate(seen)
    assert one.is_simulated
    assert (one.num_issued, one.num_failed, one.offered_rps) == (40, 0, 20)
    assert one.output_tokens.mean == 5
    assert one.slo_attainment == 1
    assert one.ttft_s.p99 is None
    assert {"dispatch_lag_s", "verdict"} <= set(seen["fidelity"])


def test_replay_with_users_is_a_closed_loop(server: str) -> None:
    arguments = ("--users", "3", "--duration", "1.5", "--warmup", "0.3", "--input-tokens", "8", "--output-tokens", "5")
    done = seatrial("replay", "--url", server, *arguments, "--stop", "natural", "--json")
    one = Measurement.model_validate_json(done.stdout)
    assert (one.users, one.offered_rps, one.stop) == (3, None, "natural")
    assert one.num_completed > 10


def test_replay_names_the_models_that_are_served(server: str) -> None:
    done = seatrial("replay", "--url", server, "--model", "gpt-9", "--rate", "1", code=2)
    assert "it serves simulated" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("run", "demoo"), "did you mean 'demo'"),
        (("plan", "nowhere.yaml"), "cannot be read"),
        (("engines", "check", "simulatd"), "did you mean 'simulated'"),
        (("profile", "nowhere.csv"), "nowhere.csv"),
        (("replay", "--url", "http://127.0.0.1:1", "--rate", "1"), "does not answer"),
        (("replay", "--url", "http://127.0.0.1:1"), "--rate"),
        (("replay", "--url", "http://127.0.0.1:1", "--rate", "1", "--users", "1"), "choose one of"),
    ],
)
def test_bad_input_ends_with_2_and_says_what_to_do(arguments: tuple[str, ...], expected: str) -> None:
    done = seatrial(*arguments, code=2)
    assert expected in done.stderr
    assert done.stdout == ""


def test_a_bad_study_starts_nothing(tmp_path: Path) -> None:
    path = study_file(tmp_path, windw={"measure_s": 1})
    done = seatrial("run", path, "--store", str(tmp_path / "store"), code=2)
    assert "windw: unknown key" in done.stderr
    assert "did you mean 'window'" in done.stderr
    assert not (tmp_path / "store").exists()


def test_a_store_that_cannot_be_written_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    done = seatrial("run", study_file(tmp_path), "--store", str(tmp_path / "file" / "store"), code=5)
    assert "cannot be written" in done.stderr


def test_profile_prints_the_published_keys(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    rows = [f"2024-01-01 00:00:{second:02d}.0000000,{100 + second},{10 + second}" for second in range(0, 60, 2)]
    trace.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]), encoding="utf-8")
    seen = json.loads(seatrial("profile", str(trace), "--json").stdout)
    assert seen["num_requests"] == 30
    assert seen["span_s"] == 58
    assert {"1", "10", "60"} <= set(seen["arrivals"]["fano"])
    assert {"rate_rps", "input_tokens", "output_tokens", "prefix"} <= set(seen)


def test_init_writes_a_study_that_reads(server: str, tmp_path: Path) -> None:
    path = tmp_path / "first.yaml"
    seatrial("init", "--url", server, "--out", str(path))
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert written["engines"][0]["name"] == "simulated"
    assert written["window"]["measure_s"] > 0
    seatrial("init", "--url", server, "--out", str(path), code=2)


def test_plan_shows_everything_and_starts_nothing(tmp_path: Path) -> None:
    seen = json.loads(seatrial("plan", study_file(tmp_path), "--json").stdout)
    assert [one["load"] for one in seen["loads"]] == ["10 requests/s", "20 requests/s"]
    (engine,) = seen["engines"]
    assert engine["space"] == {"max_running": [1, 8]}
    assert engine["bundles"] == [{"CPU": 1.0}]


def test_a_study_runs_is_recorded_and_reported(tmp_path: Path) -> None:
    store = tmp_path / "store"
    seen = json.loads(seatrial("run", study_file(tmp_path), "--store", str(store), "--json").stdout)
    assert [one["outcome"] for one in seen["trials"]] == ["completed"] * 3
    assert seen["trials"][0]["assignment"] == {}
    assert seen["is_simulated"]
    assert not seen["is_partial"]
    html = seatrial("report", "--store", str(store), "--format", "html").stdout
    assert "imulated" in html
    assert not re.search(r"""(src|href)=["']https?:""", html)
    table = seatrial("report", "--store", str(store), "--format", "md-table").stdout
    assert "| capacity |" in table
    assert "imulated" in table


def test_a_killed_study_resumes_and_repeats_nothing(tmp_path: Path) -> None:
    store, path = tmp_path / "store", study_file(tmp_path)
    with subprocess.Popen(
        command("run", path, "--store", str(store)),
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as driver:
        _await_measurements(store, 3, driver)
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    before = [line["key"] for line in journal(store) if line["event"] == "measured"]
    seen = json.loads(seatrial("run", path, "--store", str(store), "--resume", "--json").stdout)
    keys = [line["key"] for line in journal(store) if line["event"] == "measured"]
    assert keys[: len(before)] == before
    assert len(keys) == len(set(keys)) == 6
    assert [one["outcome"] for one in seen["trials"]] == ["completed"] * 3


def _await_measurements(store: Path, count: int, driver: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert driver.poll() is None, "the study ended before it could be killed"
        written = [one for one in store.glob("studies/*/journal*") if one.is_file()]
        if written and written[0].read_text(encoding="utf-8").count('"event":"measured"') >= count:
            return
        time.sleep(0.05)
    pytest.fail("no measurement within two minutes")
