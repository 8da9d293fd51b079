"""One scripted server for every test of the ruler."""

from collections.abc import Iterator

import pytest

from tests.integration.ruler.stage import Stage, staged
from tests.integration.ruler.voices import VOICES


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(VOICES, tmp_path_factory.mktemp("ruler")) as running:
        yield running
