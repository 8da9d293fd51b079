"""The local deployer keeps every deployer's promises, and those that only it makes."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.protocol import LaunchPlan, ModelRef, StartFailure
from orchestrator.deploy import ports as ports_module
from orchestrator.deploy.conformance import DeployerConformance, engine_tree, make_request, running
from orchestrator.deploy.lease import STATE_NAME, Command, Lease
from orchestrator.deploy.leftovers import await_end, sweep
from orchestrator.deploy.local import LocalDeployer
from orchestrator.deploy.stub import StubAdapter, StubConfig
from orchestrator.deploy.supervisor import Process, is_running
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.errors import DeploymentError


class TestLocalDeployer(DeployerConformance):
    factory = "orchestrator.deploy.local:make_local_deployer"


@pytest.fixture
def deployer() -> LocalDeployer:
    return LocalDeployer(SystemClock(), grace_s=0.3)


class TakenFirst(StubAdapter):
    """Starts on a port that somebody has, as often as told."""

    def __init__(self, taken_port: int, times: int) -> None:
        self.taken_port = taken_port
        self.times = times
        self.plans = 0

    def launch_plan(self, config: StubConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        self.plans += 1
        chosen = {"http": self.taken_port} if self.plans <= self.times else ports
        return super().launch_plan(config, model, ports=chosen)


class RankedAdapter(StubAdapter):
    def launch_plan(self, config: StubConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        return dataclasses.replace(super().launch_plan(config, model, ports=ports), executor="ranks")


def _recorded(folder: Path) -> dict[str, list[int]]:
    return json.loads((folder / STATE_NAME).read_text())


def _await_record(folder: Path, tree: list[Process]) -> None:
    deadline_s = time.monotonic() + 10
    while not set(tree) <= {Process(*one) for one in _recorded(folder)["processes"]}:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def with_adapter(request: DeployRequest, adapter: StubAdapter) -> DeployRequest:
    return dataclasses.replace(request, adapter=adapter)


def test_a_lost_race_for_a_port_is_repeated_on_another(deployer: LocalDeployer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        adapter = TakenFirst(taken.getsockname()[1], times=2)
        with running(deployer, with_adapter(make_request(tmp_path), adapter)) as deployment:
            deployment.check_alive()
            assert not deployment.endpoint.base_url.endswith(f":{taken.getsockname()[1]}")
    assert adapter.plans == 3


def test_a_port_that_is_always_taken_is_an_error(deployer: LocalDeployer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        adapter = TakenFirst(taken.getsockname()[1], times=9)
        with pytest.raises(DeploymentError) as caught:
            deployer.deploy(with_adapter(make_request(tmp_path), adapter))
    assert caught.value.kind is StartFailure.PORT_TAKEN
    assert adapter.plans == 3


def test_a_refused_request_ends_the_start_at_once(deployer: LocalDeployer, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"answered 400.*does not exist"):
        deployer.deploy(make_request(tmp_path, "refuse"))


def test_an_engine_of_several_ranks_is_refused(deployer: LocalDeployer, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"ranks.*Ray"):
        deployer.deploy(with_adapter(make_request(tmp_path), RankedAdapter()))


def test_an_interpreter_that_does_not_exist_is_named(deployer: LocalDeployer, tmp_path: Path) -> None:
    request = dataclasses.replace(make_request(tmp_path), interpreter=tmp_path / "no" / "python")
    with pytest.raises(DeploymentError, match="no/python cannot be started"):
        deployer.deploy(request)


def test_the_whole_tree_is_pinned(deployer: LocalDeployer, tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    with running(deployer, make_request(tmp_path, "grandchild", cpus=(core,))) as deployment:
        tree = engine_tree(deployment)
        assert [os.sched_getaffinity(one.pid) for one in tree] == [{core}, {core}]


def test_an_interrupted_start_leaves_nothing(
    deployer: LocalDeployer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Process] = []
    take = Lease.take.__func__  # type: ignore[attr-defined]

    def remember(cls: type[Lease], command: Command, clock: SystemClock) -> Lease:
        lease: Lease = take(cls, command, clock)
        started.append(lease.root)
        return lease

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Lease, "take", classmethod(remember))
    monkeypatch.setattr("orchestrator.deploy.local.await_ready", interrupt)
    with pytest.raises(KeyboardInterrupt):
        deployer.deploy(make_request(tmp_path))
    assert len(started) == 1
    assert not is_running(started[0])


def test_stop_finds_a_grandchild_whose_supervisor_was_killed(deployer: LocalDeployer, tmp_path: Path) -> None:
    deployment = deployer.deploy(make_request(tmp_path, "grandchild"))
    tree = engine_tree(deployment)
    _await_record(tmp_path, tree)
    os.kill(deployment.lease.supervisor.pid, signal.SIGKILL)
    report = deployment.stop()
    assert len(tree) == 2
    assert not [one for one in tree if is_running(one)]
    assert report.processes_gone


def test_sweep_ends_what_a_dead_owner_and_a_dead_supervisor_left(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-m", "orchestrator.deploy.conformance", TestLocalDeployer.factory, str(tmp_path)],
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        tree = [Process(*one) for one in json.loads(owner.stdout.readline())]
        _await_record(tmp_path, tree)
        assert sweep(tmp_path) == ()
        assert all(is_running(one) for one in tree)
        os.kill(_recorded(tmp_path)["supervisor"][0], signal.SIGKILL)
        owner.kill()
    grandchild = tree[1]
    await_end([tree[0]], 5.0)
    assert is_running(grandchild)
    assert sweep(tmp_path) == (grandchild,)
    assert not is_running(grandchild)
    assert sweep(tmp_path) == ()


def test_another_process_on_the_port_is_not_the_engine(
    deployer: LocalDeployer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        running(deployer, make_request(tmp_path)) as deployment,
        socket.create_server(("127.0.0.1", 0)) as stranger,
    ):
        monkeypatch.setitem(deployment.ports, "http", stranger.getsockname()[1])
        with pytest.raises(DeploymentError, match="not the engine's"):
            deployment.check_alive()
        monkeypatch.undo()
    assert ports_module.is_bindable(int(deployment.endpoint.base_url.rpartition(":")[2]))
