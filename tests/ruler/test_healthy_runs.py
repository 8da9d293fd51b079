"""No healthy run is called degraded, however bad its server: all fifty on simulated time, some of them for real."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.domain.fidelity import Fidelity, Verdict
from orchestrator.metrics.fidelity import judge
from tests.ruler.healthy import SETUPS, run, running
from tests.ruler.made_up import made_up
from tests.ruler.programs import undisturbed

ATTEMPTS = 3  # other work on the machine comes in bursts; a judge that errs does so each time
MEASURE_S = 1.0
REAL = (("fast", "poisson"), ("cutting", "gusts"), ("full", "steady"), ("stepping", "grid"), ("chatty", "closed"))

Judged = Mapping[tuple[str, str], tuple[Fidelity, Fidelity]]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Each made-up set-up, judged beside the engine's own histogram and without."""
    logs = {one: made_up(*one, tmp_path_factory.mktemp("made_up"), seed=7) for one in SETUPS}
    return {one: (judge(log, telemetry=telemetry), judge(log)) for one, (log, telemetry) in logs.items()}


@pytest.mark.parametrize("setup", SETUPS, ids="-".join)
def test_a_punctual_client_is_sound_whatever_the_server_does(setup: tuple[str, str], judged: Judged) -> None:
    assert [(one.verdict, one.reasons) for one in judged[setup]] == [(Verdict.SOUND, ())] * 2


def test_there_are_fifty_and_most_are_compared_with_the_engine(judged: Judged) -> None:
    differences_s = [one.engine_ttft_difference_s for one, _ in judged.values() if one.engine_ttft_difference_s]
    assert len(judged) == 50
    assert len(differences_s) > 40
    assert all(0 < one < 0.005 for one in differences_s)


@pytest.mark.parametrize(("server", "load"), REAL)
def test_a_real_run_is_sound(server: str, load: str, tmp_path: Path) -> None:
    with undisturbed(), running(server, tmp_path) as port:
        for _ in range(ATTEMPTS):
            fidelity = run(server, load, port=port, folder=tmp_path, measure_s=MEASURE_S, is_sampled=load == "steady")
            if fidelity.verdict is Verdict.SOUND:
                return
    pytest.fail(f"{ATTEMPTS} times not sound, at last: {fidelity.reasons}")
