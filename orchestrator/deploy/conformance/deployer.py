"""The rules of every deployer, as a test class. Starts stub engines only."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from adapters.protocol import StartFailure
from orchestrator.deploy.conformance.ends import engine_tree
from orchestrator.deploy.leftovers import await_end
from orchestrator.deploy.ports import is_bindable
from orchestrator.deploy.stub import STUB_MODEL, Behaviour, StubAdapter, StubConfig
from orchestrator.deploy.supervisor import Process, is_running
from orchestrator.domain.deployment import Deployer, Deployment, DeployRequest
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import plan_placement

# ruff: noqa: S101 - asserting is what this class is for

OWNER_DEATH_LIMIT_S = 5.0
PROGRAM = __package__


def make_request(
    folder: Path, behaviour: Behaviour = "plain", *, ready_timeout_s: float = 30.0, cpus: tuple[int, ...] | None = None
) -> DeployRequest:
    """Ask for a stub engine that behaves as named."""
    return DeployRequest(
        trial_id=f"conformance-{behaviour}",
        adapter=StubAdapter(),
        config=StubConfig(behaviour=behaviour),
        model=STUB_MODEL,
        placement=plan_placement("process", tp=1, pp=1, device="CPU", per_device=0.1),
        folder=folder,
        interpreter=Path(sys.executable),
        ready_timeout_s=ready_timeout_s,
        cpus=cpus,
    )


def load_factory(path: str) -> Deployer:
    """Make the deployer that "module:callable" names."""
    module, _, name = path.partition(":")
    deployer: Deployer = getattr(import_module(module), name)()
    return deployer


@contextlib.contextmanager
def running(deployer: Deployer, request: DeployRequest) -> Iterator[Deployment]:
    """Deploy and stop in any case."""
    deployment = deployer.deploy(request)
    try:
        yield deployment
    finally:
        deployment.stop()


class DeployerConformance:
    """Inherit and set `factory`; every inherited test must pass."""

    factory: ClassVar[str]

    @pytest.fixture
    def deployer(self) -> Deployer:
        """Make the deployer under test."""
        return load_factory(self.factory)

    def test_a_deployed_engine_is_alive_and_its_start_is_timed(self, deployer: Deployer, tmp_path: Path) -> None:
        """Times are in order and the engine answers."""
        with running(deployer, make_request(tmp_path)) as deployment:
            deployment.check_alive()
            times = deployment.times
            assert 0 < times.listen_s <= times.health_s < times.token_s
            assert deployment.argv[0] == sys.executable
            assert deployment.endpoint.model == STUB_MODEL.name

    @pytest.mark.parametrize("behaviour", ["plain", "stubborn", "grandchild"])
    def test_stop_leaves_nothing(self, deployer: Deployer, tmp_path: Path, behaviour: Behaviour) -> None:
        """Whatever the engine does with SIGTERM, and wherever its children are."""
        with running(deployer, make_request(tmp_path, behaviour)) as deployment:
            tree = engine_tree(deployment)
            port = int(deployment.endpoint.base_url.rpartition(":")[2])
            report = deployment.stop()
        assert len(tree) == (2 if behaviour == "grandchild" else 1)
        assert not [one for one in tree if is_running(one)]
        assert is_bindable(port)
        assert (report.processes_gone, report.ports_free, report.leftovers) == (True, True, ())
        assert deployment.stop() == report

    def test_a_crash_on_start_is_classified_with_its_log(self, deployer: Deployer, tmp_path: Path) -> None:
        """The person sees why."""
        with pytest.raises(DeploymentError) as caught:
            deployer.deploy(make_request(tmp_path, "crash"))
        assert caught.value.kind is StartFailure.BAD_FLAG
        assert "unknown flag --crash" in caught.value.log_tail

    @pytest.mark.parametrize("behaviour", ["silent", "unready"])
    def test_the_deadline_holds_for_an_engine_that_listens(
        self, deployer: Deployer, tmp_path: Path, behaviour: Behaviour
    ) -> None:
        """An open port is not a start."""
        began_s = time.monotonic()
        with pytest.raises(DeploymentError, match="within"):
            deployer.deploy(make_request(tmp_path, behaviour, ready_timeout_s=2.0))
        assert time.monotonic() - began_s < 2.0 + OWNER_DEATH_LIMIT_S

    def test_a_killed_engine_is_not_alive(self, deployer: Deployer, tmp_path: Path) -> None:
        """Its end is seen at the next look."""
        with running(deployer, make_request(tmp_path)) as deployment:
            os.kill(deployment.root_pid, signal.SIGKILL)
            await_end(engine_tree(deployment), OWNER_DEATH_LIMIT_S)
            with pytest.raises(DeploymentError, match="SIGKILL"):
                deployment.check_alive()
            assert deployment.stop().processes_gone

    def test_the_engine_dies_with_its_owner(self, tmp_path: Path) -> None:
        """An owner killed with SIGKILL takes the tree along, sessions and ignored signals notwithstanding."""
        command = [sys.executable, "-m", PROGRAM, self.factory, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as owner:  # noqa: S603 - our own program
            assert owner.stdout is not None
            tree = [Process(*one) for one in json.loads(owner.stdout.readline())]
            assert len(tree) == 2  # noqa: PLR2004 - the engine and its grandchild
            assert all(is_running(one) for one in tree)
            owner.kill()
        assert await_end(tree, OWNER_DEATH_LIMIT_S) == []


def own(factory: str, folder: Path) -> None:
    """Deploy a tree, say which it is, and wait to be killed."""
    deployment = load_factory(factory).deploy(make_request(folder, "grandchild"))
    sys.stdout.write(json.dumps(engine_tree(deployment)) + "\n")
    sys.stdout.flush()
    time.sleep(600)
