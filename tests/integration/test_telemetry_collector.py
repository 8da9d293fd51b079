"""The sampler as a process of its own, looking at a real process tree and a stub engine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from adapters.protocol import ServerMetric
from orchestrator.deploy.conformance import make_request
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.clock import NS_PER_S, SystemClock
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.telemetry import Telemetry
from orchestrator.telemetry.collector import Collector

MAPPING = {"stub:requests": ServerMetric("engine_requests_running", "requests", "gauge")}
HZ = 20.0
# A parent that computes nothing, with a child of 64 MiB that burns one core.
BURNER = "held = bytearray(64 * 1024 * 1024)\nwhile True: pass"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURNER!r}])"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[LocalDeployment]:
    deployment = LocalDeployer(SystemClock(), grace_s=0.2).deploy(make_request(tmp_path / "engine"))
    yield deployment
    deployment.stop()


def collector_of(engine: LocalDeployment, folder: Path) -> Collector:
    return Collector(
        metrics_url=engine.metrics_url, server_metrics=MAPPING, root_pid=engine.root_pid, folder=folder, hz=HZ
    )


def await_samples(collector: Collector, name: str, count: int) -> Telemetry:
    deadline_s = time.monotonic() + 20
    while True:
        telemetry = collector.snapshot()
        series = telemetry.get(name)
        if series is not None and series.times_ns.size >= count:
            return telemetry
        assert time.monotonic() < deadline_s, telemetry.notes
        time.sleep(0.05)


def test_every_source_is_sampled_on_the_replay_clock(engine: LocalDeployment, tmp_path: Path) -> None:
    began_ns = time.monotonic_ns()
    with collector_of(engine, tmp_path) as collector:
        await_samples(collector, "engine_requests_running", 20)
    ended_ns = time.monotonic_ns()
    telemetry = collector.stop()
    units = {one.name: one.unit for one in telemetry.series}
    assert units["engine_requests_running"] == "requests"
    assert units["host_memory_bytes"] == "bytes"
    assert {"host_cpu_cores", "host_available_bytes", "machine_cpu_ratio"} <= set(units)
    for series in telemetry.series:
        assert began_ns < series.times_ns[0]
        assert series.times_ns[-1] < ended_ns
        assert (np.diff(series.times_ns) > 0).all()
        assert np.isfinite(series.values).all()


def test_samples_come_at_the_rate_asked_for(engine: LocalDeployment, tmp_path: Path) -> None:
    with collector_of(engine, tmp_path) as collector:
        series = await_samples(collector, "host_available_bytes", 30).get("host_available_bytes")
    assert series is not None
    gaps_s = np.diff(series.times_ns) / NS_PER_S
    assert np.median(gaps_s) == pytest.approx(1 / HZ, rel=0.2)


def test_memory_and_cores_are_those_of_the_whole_tree(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], start_new_session=True)
    try:
        collector = Collector(metrics_url=None, server_metrics={}, root_pid=parent.pid, folder=tmp_path, hz=HZ)
        with collector:
            telemetry = await_samples(collector, "host_cpu_cores", 60)
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
    memory, cores = telemetry.get("host_memory_bytes"), telemetry.get("host_cpu_cores")
    assert memory is not None
    assert cores is not None
    assert memory.values[-1] > 64 * 1024 * 1024
    # The machine may be busy, so the burner need not get its whole core; the parent alone would use none.
    assert 0.2 < cores.values[-30:].mean() < 1.5
    assert any("the engine has none" in note for note in telemetry.notes)


def test_a_dead_engine_is_a_gap_with_a_note_and_never_a_zero(engine: LocalDeployment, tmp_path: Path) -> None:
    with collector_of(engine, tmp_path) as collector:
        await_samples(collector, "host_memory_bytes", 5)
        os.kill(engine.root_pid, signal.SIGKILL)
        seen = collector.snapshot().get("host_available_bytes")
        assert seen is not None
        await_samples(collector, "host_available_bytes", seen.times_ns.size + 20)
    telemetry = collector.stop()
    memory = telemetry.get("host_memory_bytes")
    assert memory is not None
    assert (memory.values > 0).all()
    assert any(note.startswith("process tree:") and "is gone" in note for note in telemetry.notes)
    assert any(note.startswith("engine /metrics:") and "missing" in note for note in telemetry.notes)


def test_the_sampler_runs_on_the_cores_it_is_given(tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    with Collector(metrics_url=None, server_metrics={}, root_pid=None, folder=tmp_path, cpus=(core,)) as collector:
        assert collector._process is not None
        assert os.sched_getaffinity(collector._process.pid) == {core}


def test_a_sampler_that_was_killed_is_told_of(tmp_path: Path) -> None:
    with Collector(metrics_url=None, server_metrics={}, root_pid=None, folder=tmp_path) as collector:
        assert collector._process is not None
        collector._process.kill()
        collector._process.wait()
    assert any("ended early with exit status -9" in note for note in collector.stop().notes)


def test_a_sampler_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "telemetry.jsonl").mkdir()
    collector = Collector(metrics_url=None, server_metrics={}, root_pid=None, folder=tmp_path)
    collector.start()
    with pytest.raises(MeasurementRefusedError, match="Is a directory"):
        collector.await_ready()


def test_a_sampler_that_nobody_started_is_not_ready(tmp_path: Path) -> None:
    collector = Collector(metrics_url=None, server_metrics={}, root_pid=None, folder=tmp_path)
    with pytest.raises(MeasurementRefusedError, match="not started"):
        collector.await_ready()


def test_the_sampler_ends_with_a_killed_owner(tmp_path: Path) -> None:
    owner_code = (
        "import os, pathlib, sys, time\n"
        "from orchestrator.telemetry.collector import Collector\n"
        "c = Collector(metrics_url=None, server_metrics={}, root_pid=None, folder=pathlib.Path(sys.argv[1]))\n"
        "c.start(); print(c._process.pid, flush=True); time.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", owner_code, str(tmp_path)], stdout=subprocess.PIPE)
    with owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        owner.kill()
    deadline_s = time.monotonic() + 5
    while Path(f"/proc/{pid}/stat").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
