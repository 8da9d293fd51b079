import itertools
import json
import os
import signal
import statistics
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters import registry
from adapters.protocol import StartFailure
from orchestrator.cluster import serve_control
from orchestrator.cluster.deployer import RayDeployer, RayDeployment
from orchestrator.cluster.session import RaySession
from orchestrator.deploy.leftovers import await_end
from orchestrator.deploy.supervisor import Process, identify
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import plan_placement
from tests.cluster.searches import MODEL

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("session")]


def a_request(folder: Path, **config: Any) -> DeployRequest:
    adapter = registry.get("simulated")
    return DeployRequest(
        trial_id="trial",
        adapter=adapter,
        config=adapter.config_type.model_validate(config),
        model=MODEL,
        placement=plan_placement("process", tp=1, pp=1, device="CPU"),
        folder=folder,
        interpreter=Path(sys.executable),
    )


def deploy(request: DeployRequest) -> RayDeployment:
    return RayDeployer(SystemClock()).deploy(request)


def chunk_times_s(deployment: RayDeployment, max_tokens: int) -> list[float]:
    """Return when each chunk of a streamed completion arrived, from sending."""
    body = {"model": MODEL.name, "prompt": "a b c", "max_tokens": max_tokens, "stream": True}
    url = f"{deployment.endpoint.base_url}/v1/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310 - http by construction
    began_s = time.monotonic()
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
        return [time.monotonic() - began_s for line in answer if line.startswith(b"data: {")]


def process(pid: int) -> Process:
    found = identify(pid)
    assert found is not None
    return found


def test_an_engine_is_deployed_spoken_to_and_gone_without_a_trace(tmp_path: Path, session: RaySession) -> None:
    assert session.is_local
    deployment = deploy(a_request(tmp_path, ttft_s=0.02))
    engine = process(deployment.root_pid)
    assert deployment.is_same_host
    assert deployment.metrics_url is not None
    assert deployment.times.place_s > 0
    assert "--ttft-s=0.02" in deployment.argv
    assert Path(f"/proc/{engine.pid}/stat").read_text(encoding="ascii").split()[18] == "0"  # niceness: Ray's 15 is gone
    deployment.check_alive()
    assert len(chunk_times_s(deployment, 5)) >= 5
    report = deployment.stop()
    assert report.processes_gone
    assert report.ports_free
    assert report.leftovers == ()
    assert deployment.stop() is report
    assert identify(engine.pid) != engine
    assert identify(deployment.replica.pid) != deployment.replica
    assert serve_control.app_states() == {}
    with pytest.raises(DeploymentError, match="was stopped"):
        deployment.check_alive()


def test_via_serve_streams_as_it_comes(tmp_path: Path) -> None:
    deployment = deploy(replace(a_request(tmp_path, ttft_s=0.02, itl_s=0.1), via="serve"))
    try:
        assert deployment.endpoint.via == "serve"
        assert deployment.endpoint.base_url.endswith(f"/{deployment.app}")
        assert deployment.metrics_url is not None
        assert deployment.metrics_url.startswith("http://127.0.0.1:")
        times_s = chunk_times_s(deployment, 6)
        gaps_s = [later - earlier for earlier, later in itertools.pairwise(times_s)]
        assert statistics.median(gaps_s) == pytest.approx(0.1, abs=0.06), (
            gaps_s
        )  # gathered chunks would come all at once
    finally:
        deployment.stop()


def test_a_start_that_fails_is_told_once_with_its_log_and_leaves_no_application(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError) as failure:
        deploy(a_request(tmp_path, crash_on_start="CUDA out of memory"))
    assert failure.value.kind is StartFailure.OUT_OF_MEMORY
    assert "CUDA out of memory" in failure.value.log_tail
    assert serve_control.app_states() == {}


def test_an_engine_that_dies_is_told_with_its_log(tmp_path: Path) -> None:
    deployment = deploy(a_request(tmp_path))
    try:
        os.kill(deployment.root_pid, signal.SIGKILL)
        await_end([process for process in [identify(deployment.root_pid)] if process is not None], 5)
        with pytest.raises(DeploymentError, match="SIGKILL"):
            deployment.check_alive()
    finally:
        assert deployment.stop().leftovers == ()


def test_a_replica_that_dies_takes_its_engine_along_and_its_successor_is_not_it(tmp_path: Path) -> None:
    deployment = deploy(a_request(tmp_path))
    engine = process(deployment.root_pid)
    os.kill(deployment.replica.pid, signal.SIGKILL)
    assert await_end([engine], 10) == []
    with pytest.raises(DeploymentError, match=r"does not answer|restarted the replica"):
        deployment.check_alive()
    report = deployment.stop()
    assert report.processes_gone
    assert report.leftovers == ()
    assert serve_control.app_states() == {}


def test_what_can_never_be_placed_is_refused_at_once_with_the_numbers(tmp_path: Path) -> None:
    cores = os.cpu_count() or 1
    plan = plan_placement("process", tp=cores + 1, pp=1, device="CPU")
    began_s = time.monotonic()
    with pytest.raises(DeploymentError, match=rf"asks for {{CPU: {cores + 1}.*idle: {{CPU: {cores}"):
        deploy(replace(a_request(tmp_path), placement=plan))
    assert time.monotonic() - began_s < 2.0


def test_a_placement_that_does_not_come_is_given_up_with_the_numbers(tmp_path: Path) -> None:
    cores = os.cpu_count() or 1
    plan = plan_placement("process", tp=cores, pp=1, device="CPU")
    holder = deploy(replace(a_request(tmp_path / "holder"), placement=plan))
    try:
        with pytest.raises(DeploymentError, match=r"not placed within 1 s: asks for .* free now"):
            RayDeployer(SystemClock(), place_timeout_s=1.0).deploy(a_request(tmp_path / "late"))
        assert set(serve_control.app_states()) == {holder.app}
    finally:
        holder.stop()
