"""What every deployer and every started engine must do, published as test classes to inherit from."""

from orchestrator.deploy.conformance.deployer import DeployerConformance, load_factory, make_request, running
from orchestrator.deploy.conformance.ends import assert_nothing_is_left, await_seen_end, engine_tree
from orchestrator.deploy.conformance.engine import EngineConformance

__all__ = [
    "DeployerConformance",
    "EngineConformance",
    "assert_nothing_is_left",
    "await_seen_end",
    "engine_tree",
    "load_factory",
    "make_request",
    "running",
]
