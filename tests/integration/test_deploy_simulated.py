"""The local deployer and the collector on the simulated engine, as a trial uses them."""

import dataclasses
import time
from pathlib import Path

import pytest

from adapters import registry
from adapters.protocol import StartFailure
from orchestrator.deploy.conformance import make_request, running
from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.errors import DeploymentError
from orchestrator.telemetry.collector import Collector


def request_of(folder: Path, **settings: object) -> DeployRequest:
    adapter = registry.get("simulated")
    config = adapter.config_type.model_validate(settings)
    return dataclasses.replace(make_request(folder), adapter=adapter, config=config)


@pytest.fixture
def deployer() -> LocalDeployer:
    return LocalDeployer(SystemClock(), grace_s=1.0)


def test_its_probe_tokens_are_in_its_own_counters(deployer: LocalDeployer, tmp_path: Path) -> None:
    with running(deployer, request_of(tmp_path)) as deployment:
        collector = Collector(
            metrics_url=deployment.metrics_url,
            server_metrics=registry.get("simulated").server_metrics(),
            root_pid=deployment.root_pid,
            folder=tmp_path,
        )
        with collector:
            telemetry = collector.snapshot()
    written = telemetry.get("engine_output_tokens")
    assert written is not None
    # Two probes of four tokens settle a latency that is constant; a busy machine may need more, five at most.
    assert written.values[0] in {8.0, 12.0, 16.0, 20.0}


def test_start_times_follow_the_engine(deployer: LocalDeployer, tmp_path: Path) -> None:
    with running(deployer, request_of(tmp_path, start_delay_s=0.5, unhealthy_s=0.5, ttft_s=0.2)) as deployment:
        times = deployment.times
    assert times.listen_s > 0.5
    assert times.health_s - times.listen_s > 0.3
    assert times.token_s - times.health_s > 2 * 0.2


def test_a_crash_is_classified_by_its_adapter(deployer: LocalDeployer, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError) as caught:
        deployer.deploy(request_of(tmp_path, crash_on_start="CUDA out of memory"))
    assert caught.value.kind is StartFailure.OUT_OF_MEMORY
    assert caught.value.log_tail == "CUDA out of memory"


def test_an_engine_that_never_listens_meets_the_deadline(deployer: LocalDeployer, tmp_path: Path) -> None:
    request = dataclasses.replace(request_of(tmp_path, start_delay_s=60.0), ready_timeout_s=1.0)
    began_s = time.monotonic()
    with pytest.raises(DeploymentError, match=r"listen on its port within"):
        deployer.deploy(request)
    assert time.monotonic() - began_s < 6.0
