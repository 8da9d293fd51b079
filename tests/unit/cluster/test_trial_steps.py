from typing import Any, cast

import pytest

from adapters.protocol import StartFailure, Violation
from orchestrator.cluster.desk import Directive
from orchestrator.cluster.reports import Deployed, Ended, Interrupted, Measured, to_result
from orchestrator.cluster.steps import TrialSteps
from orchestrator.domain.deployment import StopReport
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.load import OfferedLoad, OpenLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned
from orchestrator.trials import InfeasibleError, TrialRun
from tests.study_builders import a_measurement, a_study

STOPPED = StopReport(0.1, processes_gone=True, ports_free=True, memory_returned=True)


class FakeRun:
    """A trial whose engine is a list of what was asked of it."""

    def __init__(self, *, opening: Exception | None = None, measuring: Exception | None = None) -> None:
        self.calls: list[str] = []
        self.facts = {"argv": "x"}
        self.engine_start_s = 2.0
        self.replay_s = 0.0
        self.opening = opening
        self.measuring = measuring
        self.is_open = False

    def open(self) -> None:
        self.calls.append("open")
        if self.opening is not None:
            raise self.opening
        self.is_open = True

    def measure(self, load: OfferedLoad) -> Measurement:
        assert isinstance(load, OpenLoad)
        self.calls.append(f"measure {load.step}")
        if self.measuring is not None:
            raise self.measuring
        self.replay_s += 30.0
        return a_measurement(load)

    def close(self) -> StopReport | None:
        self.calls.append("close")
        was_open, self.is_open = self.is_open, False
        return STOPPED if was_open else None


class FakeCounter:
    """A desk that plays directives."""

    def __init__(self, *directives: Directive, refusal: Exception | None = None) -> None:
        self.directives = list(directives)
        self.refusal = refusal

    def borrow(self) -> float:
        if self.refusal is not None:
            raise self.refusal
        return 1.5

    def directive(self) -> Directive:
        return self.directives.pop(0) if self.directives else Directive.GO


def steps_of(run: FakeRun, *directives: Directive, **changes: Any) -> TrialSteps:
    counter = FakeCounter(*directives, refusal=changes.pop("refusal", None))
    return TrialSteps(cast("TrialRun", run), a_study(), counter=counter, **changes)


def test_a_trial_opens_measures_each_load_and_reports_its_end_after_the_engine_is_down() -> None:
    run = FakeRun()
    steps = steps_of(run)
    reports = [steps.step() for _ in range(5)]
    assert reports[0] == Deployed({"argv": "x"}, 2.0, 1.5)
    assert [one.measurement.step for one in reports[1:4] if isinstance(one, Measured)] == [1000, 2000, 4000]
    assert isinstance(reports[4], Ended)
    assert isinstance(reports[4].outcome, Completed)
    assert reports[4].stopped == STOPPED
    assert run.calls == ["open", "measure 1000", "measure 2000", "measure 4000", "close"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (InfeasibleError([Violation("tp", 2, "a divisor of 9")]), Infeasible),
        (DeploymentError("no room", kind=StartFailure.OUT_OF_MEMORY, log_tail="OOM"), Infeasible),
        (DeploymentError("hung"), Failed),
        (ZeroDivisionError("a bug"), Failed),
    ],
)
def test_an_error_is_how_the_trial_ended(error: Exception, outcome: type) -> None:
    run = FakeRun(opening=error)
    report = steps_of(run).step()
    assert isinstance(report, Ended)
    assert isinstance(report.outcome, outcome)
    assert run.calls == ["open", "close"]


def test_an_engine_that_dies_under_load_is_taken_down() -> None:
    run = FakeRun(measuring=DeploymentError("it ended"))
    steps = steps_of(run)
    steps.step()
    report = steps.step()
    assert isinstance(report, Ended)
    assert report.outcome == Failed("it ended", kind=StartFailure.UNKNOWN)
    assert not run.is_open


def test_devices_that_never_come_are_a_truth_about_the_configuration() -> None:
    run = FakeRun()
    report = steps_of(run, refusal=InfeasibleError([Violation("tp * pp", 4, "at most 2")])).step()
    assert isinstance(report, Ended)
    assert isinstance(report.outcome, Infeasible)
    assert "open" not in run.calls


def test_a_pruned_trial_keeps_what_it_measured() -> None:
    run = FakeRun()
    steps = steps_of(run, Directive.GO, Directive.GO, Directive.PRUNE)
    steps.step()
    steps.step()
    report = steps.step()
    assert isinstance(report, Ended)
    assert isinstance(report.outcome, Pruned)
    assert [one.step for one in report.outcome.measurements] == [1000]
    assert report.outcome.score == steps.score
    assert run.calls[-1] == "close"


def test_a_stopped_trial_has_no_outcome() -> None:
    run = FakeRun()
    steps = steps_of(run, Directive.GO, Directive.STOP)
    steps.step()
    assert steps.step() == Interrupted(STOPPED)


def test_a_trial_that_is_measured_at_every_load_needs_no_engine() -> None:
    run = FakeRun()
    steps = steps_of(run, known=frozenset({1000, 2000, 4000}))
    reports = [steps.step() for _ in range(4)]
    assert "open" not in run.calls
    assert isinstance(reports[-1], Ended)


def test_every_result_carries_a_finite_score_and_a_verdict() -> None:
    run = FakeRun()
    steps = steps_of(run)
    deployed = to_result(steps.step(), steps.score)
    measured = to_result(steps.step(), steps.score)
    assert (deployed["score"], deployed["verdict"], deployed["done"]) == (0.0, "deployed", False)
    assert (measured["score"], measured["verdict"]) == (pytest.approx(0.97), "measured")
    assert Measurement.model_validate_json(measured["measurement"]) == a_measurement(1.0)
    ended = to_result(Ended(Infeasible("no"), None), None)
    assert (ended["verdict"], ended["done"]) == ("infeasible", True)
