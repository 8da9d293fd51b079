"""A load beyond what a server can carry is given up soon, with what was measured kept; one it can carry never is."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.analysis.curve import Curve
from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.slo import Slo
from orchestrator.domain.trial import TrialSpec
from orchestrator.metrics.saturation import OUTGREW
from orchestrator.replay import read_records
from orchestrator.report.measurement_text import measurement_text
from orchestrator.studies.candidates import candidates_of
from orchestrator.studies.local_runner import LocalRunner
from orchestrator.studies.reading import parse_study
from orchestrator.studies.sweep import run_sweep
from orchestrator.telemetry.hardware import read_hardware

TTFT_S, ITL_S, TOKENS, RUNNING = 0.02, 0.01, 10, 2
CAPACITY_RPS = RUNNING / (TTFT_S + ITL_S * (TOKENS - 1))
MEASURE_S = 12.5
SLO = Slo(ttft_s=3.0)


class Notebook:
    """Writes down what was measured."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []

    def started(self, trial: TrialSpec) -> None:
        pass

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        pass

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:  # noqa: ARG002 - the observer's signature
        self.measurements.append(measurement)

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        pass


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Measurement, Measurement, Path]:
    """Measure half and three times the capacity of one simulated engine."""
    config = {"ttft_s": TTFT_S, "itl_s": ITL_S, "max_running": RUNNING}
    spec = parse_study(
        {
            "name": "oversaturation",
            "model": {"name": "none", "variant": "none"},
            "engines": [{"name": "simulated", "config": config, "search": {}}],
            "workload": {
                "source": {"kind": "fixed", "input_tokens": 12, "output_tokens": TOKENS, "pattern": "constant"}
            },
            "load": {"rates_rps": [round(CAPACITY_RPS / 2), round(CAPACITY_RPS * 3)]},
            "window": {"warmup_s": 0.5, "measure_s": MEASURE_S, "drain_s": 1},
            "slo": {"ttft_s": SLO.ttft_s},
            "budget": {"trials": 1, "max_retries": 0},
            "deploy": {"deployer": "local", "ready_timeout_s": 30},
        },
        "test",
    )
    folder, clock, notebook = tmp_path_factory.mktemp("study"), SystemClock(), Notebook()
    run_sweep(
        spec,
        study_id="oversaturation-1",
        candidates=candidates_of(spec, read_hardware()),
        folder=folder,
        runner=LocalRunner(LocalDeployer(clock), clock),
        observer=notebook,
        clock=clock,
    )
    carried, hopeless = notebook.measurements
    return carried, hopeless, folder


def test_half_the_capacity_is_measured_to_the_end(study: tuple[Measurement, Measurement, Path]) -> None:
    carried, _, _ = study
    assert carried.window_s == MEASURE_S
    assert carried.steadiness is not None
    assert (carried.steadiness.oversaturated_at_s, carried.steadiness.given_up) == (None, None)
    assert carried.num_failed == 0


def test_three_times_the_capacity_is_given_up_and_kept(study: tuple[Measurement, Measurement, Path]) -> None:
    _, hopeless, folder = study
    steadiness = hopeless.steadiness
    assert steadiness is not None
    assert steadiness.given_up is not None
    assert steadiness.given_up.startswith(OUTGREW)
    assert 9 < hopeless.window_s < MEASURE_S
    assert steadiness.oversaturated_at_s == hopeless.window_s
    assert hopeless.ttft_from_intended_s.count > 50
    assert hopeless.ttft_from_intended_s.intervals == {}
    (path,) = folder.glob(f"*/load-{hopeless.step}/requests.parquet")
    assert read_records(path).early_stop == steadiness.given_up
    assert "load given up after" in measurement_text(hopeless)


def test_what_was_given_up_claims_no_more_than_its_whole_window_would(
    study: tuple[Measurement, Measurement, Path],
) -> None:
    carried, hopeless, _ = study
    assert hopeless.slo_attainment is not None
    assert hopeless.goodput_rps is not None
    assert 0 < hopeless.goodput_rps < CAPACITY_RPS / 2
    assert hopeless.slo_attainment < 0.3
    assert hopeless.failures.get("cancelled", 0) > 50
    assert Curve.of((carried, hopeless)).capacity(SLO) == carried


def test_both_latencies_stand_in_every_record_and_differ_by_the_wait_before_sending(
    study: tuple[Measurement, Measurement, Path],
) -> None:
    _, hopeless, folder = study
    (path,) = folder.glob(f"*/load-{hopeless.step}/requests.parquet")
    log = read_records(path)
    before = [one for one in log.records if one.intended_ns < log.window.start_ns <= one.end_ns]
    assert before, "the warm-up hands over without draining"
    assert all(one.sent_ns is not None and one.intended_ns <= one.dispatched_ns <= one.sent_ns for one in log.records)
    counted = sum(log.window.start_ns <= one.intended_ns < log.window.end_ns for one in log.records)
    assert (
        hopeless.num_issued
        == counted
        == len(log.records) - sum(one.intended_ns < log.window.start_ns for one in log.records)
    )
