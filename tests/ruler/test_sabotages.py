"""Each way to spoil a measurement is found out, and for what it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.domain.fidelity import Verdict
from tests.ruler.programs import simulated
from tests.ruler.sabotages import SABOTAGES


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with simulated("--ttft-s=0.02", "--itl-s=0.005") as port:
        yield port


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotaged_run_is_not_sound(name: str, port: int, tmp_path: Path) -> None:
    sabotage = SABOTAGES[name]
    fidelity = sabotage.run(port, tmp_path)
    assert fidelity.verdict is not Verdict.SOUND
    assert any(sabotage.says in reason for reason in fidelity.reasons), fidelity.reasons


def test_there_are_twelve() -> None:
    assert len(SABOTAGES) == 12
