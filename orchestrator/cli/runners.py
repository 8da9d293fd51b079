"""Chooses who runs a study's trials: this process, or Ray."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.domain.clock import Clock
from orchestrator.domain.runner import Runner
from orchestrator.domain.study import StudySpec
from orchestrator.studies.candidates import Candidate, needs_proxy


@contextmanager
def choose_runner(
    study: StudySpec, candidates: Sequence[Candidate], *, address: str | None, clock: Clock
) -> Iterator[Runner]:
    """Yield a study's runner; what it started is down when the block ends."""
    if study.deploy.deployer == "local":
        from orchestrator.deploy.local import LocalDeployer  # noqa: PLC0415 - only what this study needs is imported
        from orchestrator.studies.local_runner import LocalRunner  # noqa: PLC0415

        yield LocalRunner(LocalDeployer(clock), clock)
        return
    from orchestrator.cluster.runner import RayRunner  # noqa: PLC0415 - Ray takes seconds to import
    from orchestrator.cluster.session import ray_session  # noqa: PLC0415

    with ray_session(address, http=study.deploy.via == "serve" or any(map(needs_proxy, candidates))):
        yield RayRunner(clock)
