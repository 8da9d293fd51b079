from pathlib import Path
from typing import Any

import pytest

from adapters.samples import sample_model
from orchestrator.cluster.runner import RayRunner
from orchestrator.cluster.trainable import DeskCounter, _weights_of
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.outcome import Failed
from orchestrator.domain.placement import PlacementPlan
from orchestrator.domain.runner import SearchJob
from tests.cluster.searches import Events, a_search
from tests.study_builders import a_study


def a_job(folder: Path, **changes: Any) -> SearchJob:
    study = a_study()
    values: dict[str, Any] = {
        "study": study,
        "study_id": "demo-1",
        "choice": study.engines[0],
        "model": sample_model("none"),
        "environment": EngineEnvironment("own", interpreter=Path("python")),
        "folder": folder,
        "trials": 1,
    }
    return SearchJob(**(values | changes))


def test_weights_that_are_not_on_the_node_end_the_trial_before_a_device_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path))
    gone = sample_model("hf").model_copy(update={"path": tmp_path / "gone"})
    study = a_study(model={"name": "mine", "path": tmp_path / "gone"})
    model, absence = _weights_of(a_job(tmp_path, study=study, model=gone))
    assert model == gone
    counter = DeskCounter(
        None,  # a desk that was asked would not answer
        "trial",
        PlacementPlan(({"CPU": 1.0},), "PACK", devices=1),
        capacity=1,
        misfit=None,
        absence=absence,
    )
    with pytest.raises(DeploymentError, match="this node has not"):
        counter.borrow()


def test_weights_that_are_there_change_nothing(tmp_path: Path) -> None:
    job = a_job(tmp_path)
    assert _weights_of(job) == (job.model, None)


@pytest.mark.cluster
@pytest.mark.usefixtures("session")
def test_a_trial_whose_weights_are_nowhere_to_be_had_fails_and_says_so(tmp_path: Path) -> None:
    gone = sample_model("hf").model_copy(update={"path": tmp_path / "gone"})
    events = Events()
    RayRunner(SystemClock()).run(a_search(tmp_path / "trials", model=gone, trials=1, max_retries=0, search={}), events)
    outcome = events.outcomes[0]
    assert isinstance(outcome, Failed)
    assert f"the driver has them at {gone.path}, this node has not" in outcome.reason
    assert "deployed 0" not in events.lines
