"""Ends a running vLLM from outside by killing one of its processes, and looks at what is left."""

import os
import signal

from orchestrator.deploy.conformance import assert_nothing_is_left, await_seen_end, engine_tree
from orchestrator.deploy.deployment import LocalDeployment
from tests.engines.deployments import command_line

END_S = 30.0
API_SERVER, ENGINE_CORE, RANK = "api_server", "VLLM::EngineCore", "VLLM::Worker"
KINDS = (API_SERVER, ENGINE_CORE, RANK)


def assert_killing_leaves_nothing(deployment: LocalDeployment, kind: str) -> None:
    """Kill the last process of a kind; the end must be seen, and nothing may run afterwards."""
    tree = engine_tree(deployment)
    killed = [one for one in tree if kind in command_line(one)][-1]
    assert len(tree) >= 4
    os.kill(killed.pid, signal.SIGKILL)
    await_seen_end(deployment, END_S)
    assert_nothing_is_left(deployment, tree)
