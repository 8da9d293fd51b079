import numpy as np
import pytest

from adapters.protocol import StartFailure
from orchestrator.domain.load import ClosedLoad
from orchestrator.domain.outcome import Failed
from orchestrator.domain.study_record import TrialEvidence
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.tracking.events import (
    Measured,
    StudyOpened,
    Times,
    TrialDeployed,
    TrialEnded,
    TrialStarted,
    ending_of,
)
from orchestrator.tracking.operations import LogMetrics, LogText, OpenRun, Operation, SetTags
from orchestrator.tracking.runs import end_of_trial, operations_of, points_of
from orchestrator.tracking.samples import telemetry_points, thin
from tests.study_builders import a_measurement, a_study, a_trial, an_evidence

AT = "2027-01-15T08:00:00+00:00"
OPENED = StudyOpened(
    at=AT,
    study_id="demo-1",
    digest=a_study().digest,
    spec=a_study(),
    versions={"seatrial": "0.1.0"},
    tags={"hardware.cpu": "2 cores"},
)


def _tags(operations: tuple[Operation, ...]) -> dict[str, str]:
    return {key: value for one in operations if isinstance(one, SetTags) for key, value in one.tags.items()}


def _started(**changes: object) -> TrialStarted:
    trial = a_trial(1, **changes)
    return TrialStarted(at=AT, trial_id=trial.trial_id, digest=trial.digest, trial=trial)


def test_the_step_is_the_offered_load() -> None:
    points = {one.name: one for one in points_of(a_measurement(2.5))}
    assert {one.step for one in points.values()} == {2500}
    assert points["offered_rps"].value == 2.5
    assert points["ttft_p50_s"].value == a_measurement(2.5).ttft_s.p50
    closed = points_of(a_measurement(ClosedLoad(users=4)))
    assert {one.step for one in closed} == {4}
    assert "offered_rps" not in {one.name for one in closed}


def test_what_the_sample_does_not_carry_is_absent_not_zero() -> None:
    names = {one.name for one in points_of(a_measurement(2.0))}
    assert "ttft_p90_s" in names
    assert "ttft_p99_s" not in names


def test_a_run_carries_what_must_be_equal_for_a_fair_comparison() -> None:
    tags = _tags(operations_of(_started(), OPENED))
    expected = {
        "engine": "llamacpp",
        "model.weights_sha256": "ab" * 32,
        "version.seatrial": "0.1.0",
        "hardware.cpu": "2 cores",
        "cache.policy": "salted",
        "via": "engine",
        "study.digest": a_study().digest,
        "model.variant": "bf16",
    }
    assert {key: tags[key] for key in expected} == expected
    one = a_measurement()
    measured = Measured(at=AT, key="k", trial_id="t", trial_digest="d", measurement=one)
    tags = _tags(operations_of(measured, OPENED))
    assert tags["simulated"] == "false"
    assert tags["load.2000.client_verdict"] == "sound"
    assert tags["load.2000.schedule_digest"] == one.schedule_digest


def test_params_hold_assignment_and_config_and_no_secret() -> None:
    (run,) = (
        one
        for one in operations_of(_started(config={"n_ctx": 2048, "api_key": "sk"}), OPENED)
        if isinstance(one, OpenRun)
    )
    assert run.params["config.n_ctx"] == "2048"
    assert run.params["config.api_key"] == "[redacted]"
    assert run.params["assignment.n_parallel"] == "2"
    assert run.parent == "demo-1"


def test_a_value_that_mlflow_would_cut_becomes_an_artifact() -> None:
    operations = operations_of(
        TrialDeployed(at=AT, trial_id="t", facts={"argv": "x" * 6001, "short": "y" * 6000}), OPENED
    )
    (text,) = (one for one in operations if isinstance(one, LogText))
    assert (text.path, text.text) == ("values/engine.argv.txt", "x" * 6001)
    assert _tags(operations)["engine.argv"] == "see artifact values/engine.argv.txt"
    assert _tags(operations)["engine.short"] == "y" * 6000


def test_a_failed_trial_says_why_and_scores_nothing() -> None:
    outcome = Failed("engine ended", StartFailure.OUT_OF_MEMORY, "last lines")
    event = TrialEnded(
        at=AT, trial_id="t", ending=ending_of(outcome), times=Times(wall_s=9, engine_start_s=2, replay_s=4)
    )
    operations = operations_of(event, OPENED)
    assert _tags(operations)["outcome"] == "failed"
    assert _tags(operations)["outcome.failure"] == "out_of_memory"
    (metrics,) = (one for one in operations if isinstance(one, LogMetrics))
    assert {one.name: one.value for one in metrics.points}.items() >= {"trial/overhead_s": 3.0}.items()
    assert "trial/score" not in {one.name for one in metrics.points}
    assert end_of_trial(event).status == "FAILED"


def test_telemetry_is_timed_thinned_and_finite() -> None:
    measurements = (a_measurement(1.0), a_measurement(2.0))
    points = telemetry_points(an_evidence(measurements, seconds=120), points_per_load=40)
    memory = [one for one in points if one.name == "telemetry/host_memory_bytes"]
    assert 40 < len(memory) <= 80
    assert [one.step for one in memory] == sorted({one.step for one in memory})
    assert memory[0].step == 0
    assert memory[-1].step == 119_800
    assert memory[1].time_ms - memory[0].time_ms == memory[1].step


def test_samples_that_are_not_finite_are_left_out() -> None:
    series = Series("x", "ratio", np.arange(4), np.array([1.0, np.nan, np.inf, 2.0]))
    evidence = TrialEvidence(Telemetry((series,), 0.2), (), 0)
    assert [one.value for one in telemetry_points(evidence)] == [1.0, 2.0]


@pytest.mark.parametrize("limit", [4, 17, 200])
def test_thinning_keeps_the_extremes_and_the_limit(limit: int) -> None:
    values = np.zeros(1000)
    values[333], values[777] = -5, 9
    chosen = thin(Series("x", "ratio", np.arange(1000), values), limit)
    assert {0, 333, 777, 999} <= set(chosen.tolist())
    assert len(chosen) <= limit
