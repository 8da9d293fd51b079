"""Ray for the tests of this folder. Ray warns of its own code while it is imported, which is not ours to mend."""

import os
import warnings
from collections.abc import Iterator

import pytest

from orchestrator.deploy.supervisor import descendants

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from orchestrator.cluster.runner import RayRunner  # noqa: F401 - imports all that tests of this folder need of Ray
    from orchestrator.cluster.session import RaySession, ray_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let Ray warn in tests that start it: our own warnings still fail."""
    for item in items:
        if "tests/cluster" in item.path.as_posix():
            for kind in (
                "DeprecationWarning",
                "FutureWarning",
                "ResourceWarning",
                "pytest.PytestUnraisableExceptionWarning",
            ):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))


@pytest.fixture(scope="module")
def session() -> Iterator[RaySession]:
    """A Ray of our own, one a module; what it leaves behind fails the module."""
    before = set(descendants(os.getpid()))
    with ray_session() as opened:
        started = set(descendants(os.getpid())) - before
        yield opened
    assert started, "expected Ray's processes below ours, seen none"
    assert set(descendants(os.getpid())) <= before
