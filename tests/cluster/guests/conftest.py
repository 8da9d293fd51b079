"""Somebody else's cluster, to which drivers and jobs of ours come as guests: started once for all of this folder."""

from collections.abc import Iterator

import pytest

from tests.cluster.heads import Head, ray_head


@pytest.fixture(scope="package")
def head() -> Iterator[Head]:
    """Return a running head with four pretended CPUs."""
    with ray_head(cpus=4) as running:
        yield running
