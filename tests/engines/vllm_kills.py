"""Ends a running vLLM from outside by killing one of its processes, and looks at what is left."""

import os
import signal
import time

from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.leftovers import await_end
from orchestrator.domain.errors import DeploymentError
from tests.engines.deployments import command_line, tree_of

END_S = 30.0
API_SERVER, ENGINE_CORE, RANK = "api_server", "VLLM::EngineCore", "VLLM::Worker"
KINDS = (API_SERVER, ENGINE_CORE, RANK)


def assert_killing_leaves_nothing(deployment: LocalDeployment, kind: str) -> None:
    """Kill the last process of a kind; the end must be seen, and nothing may run afterwards."""
    tree = tree_of(deployment)
    killed = [one for one in tree if kind in command_line(one)][-1]
    assert len(tree) >= 4
    os.kill(killed.pid, signal.SIGKILL)
    assert is_seen_to_end(deployment)
    report = deployment.stop()
    assert (report.processes_gone, report.ports_free, report.leftovers) == (True, True, ())
    assert report.memory_returned is not False
    assert await_end(tree, END_S) == []


def is_seen_to_end(deployment: LocalDeployment) -> bool:
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        try:
            deployment.check_alive()
        except DeploymentError:
            return True
        time.sleep(0.2)
    return False
