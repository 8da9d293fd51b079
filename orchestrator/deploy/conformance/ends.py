"""Looks at an engine's process tree before and after its end."""

import time

from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.leftovers import await_end
from orchestrator.deploy.ports import is_bindable
from orchestrator.deploy.supervisor import Process, descendants, identify
from orchestrator.domain.deployment import Deployment
from orchestrator.domain.errors import DeploymentError

# ruff: noqa: S101 - asserting is what these are for

DEATH_LIMIT_S = 5.0
SEEN_POLL_S = 0.2


def engine_tree(deployment: Deployment) -> list[Process]:
    """List the engine's root and everything below it."""
    root = identify(deployment.root_pid)
    return [*([root] if root else []), *descendants(deployment.root_pid)]


def await_seen_end(deployment: Deployment, timeout_s: float) -> None:
    """Return once the deployment says that its engine is not alive.

    Raises:
        AssertionError: it still calls the engine alive after `timeout_s`.
    """
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        try:
            deployment.check_alive()
        except DeploymentError:
            return
        time.sleep(SEEN_POLL_S)
    raise AssertionError(f"expected the engine's end to be seen within {timeout_s:g} s; it is still called alive")


def assert_nothing_is_left(deployment: LocalDeployment, tree: list[Process]) -> None:
    """Stop the engine and look for its processes, ports and memory."""
    report = deployment.stop()
    assert (report.processes_gone, report.ports_free, report.leftovers) == (True, True, ()), f"saw {report}"
    assert report.memory_returned is not False, f"memory must be back, saw {report}"
    left = await_end(tree, DEATH_LIMIT_S)
    assert not left, f"processes must have ended, still running: {left}"
    taken = [port for port in deployment.ports.values() if not is_bindable(port)]
    assert not taken, f"ports must be free, taken: {taken}"
