"""How errors become outcomes: the configuration's fault is told from the infrastructure's."""

import pytest

from adapters.protocol import StartFailure, Violation
from orchestrator.domain.errors import DeploymentError, MeasurementRefusedError
from orchestrator.domain.outcome import Failed, Infeasible
from orchestrator.trials import InfeasibleError, end_of

CONFIGURATION = {
    StartFailure.OUT_OF_MEMORY,
    StartFailure.BAD_FLAG,
    StartFailure.BAD_MODEL,
    StartFailure.MISSING_PACKAGE,
}


def test_a_violation_is_infeasible_and_keeps_its_rows() -> None:
    violation = Violation("n_ubatch", 512, "at most n_batch=256")
    end = end_of(InfeasibleError([violation]))
    assert isinstance(end, Infeasible)
    assert end.violations == (violation,)
    assert "n_ubatch: seen 512, allowed at most n_batch=256" in end.reason


@pytest.mark.parametrize("kind", list(StartFailure))
def test_every_start_failure_has_one_meaning(kind: StartFailure) -> None:
    end = end_of(DeploymentError("it ended", kind=kind, log_tail="last words"))
    assert isinstance(end, Infeasible if kind in CONFIGURATION else Failed)
    assert (end.kind, end.log_tail, end.reason) == (kind, "last words", "it ended")


@pytest.mark.parametrize("error", [MeasurementRefusedError("cannot"), ValueError("odd"), OSError("gone")])
def test_anything_else_is_failed_with_its_name(error: Exception) -> None:
    end = end_of(error)
    assert isinstance(end, Failed)
    assert type(error).__name__ in end.reason
