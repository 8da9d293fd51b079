"""A whole study without Ray: the simulated engine, real processes, real traffic, real telemetry."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, Infeasible, TrialOutcome
from orchestrator.domain.runner import PastTrial, TrialTimes
from orchestrator.domain.trial import TrialSpec
from orchestrator.replay import read_records
from orchestrator.studies.candidates import candidates_of
from orchestrator.studies.local_runner import LocalRunner
from orchestrator.studies.reading import parse_study
from orchestrator.studies.sweep import run_sweep
from orchestrator.telemetry.files import read_telemetry
from orchestrator.telemetry.hardware import read_hardware

TTFT_S = 0.03
ITL_S = 0.005


class Notebook:
    """Writes down what an observer is told."""

    def __init__(self) -> None:
        self.trials: dict[str, TrialSpec] = {}
        self.facts: dict[str, Mapping[str, str]] = {}
        self.measurements: dict[str, list[Measurement]] = {}
        self.endings: dict[str, tuple[TrialOutcome, TrialTimes]] = {}

    def started(self, trial: TrialSpec) -> None:
        self.trials[trial.trial_id] = trial
        self.measurements[trial.trial_id] = []

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        self.facts[trial.trial_id] = facts

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:
        self.measurements[trial.trial_id].append(measurement)

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        assert trial.trial_id not in self.endings
        self.endings[trial.trial_id] = (outcome, times)


def run(folder: Path, *, past: tuple[PastTrial, ...] = (), **changes: Any) -> Notebook:
    study = parse_study(
        {
            "name": "local",
            "model": {"name": "none", "variant": "none"},
            "engines": [{"name": "simulated", "config": {"ttft_s": TTFT_S, "itl_s": ITL_S}, "search": {}}],
            "workload": {"source": {"kind": "fixed", "input_tokens": 12, "output_tokens": 6, "pattern": "constant"}},
            "load": {"rates_rps": [20, 40]},
            "window": {"warmup_s": 0.3, "measure_s": 1.0, "drain_s": 2},
            "slo": {"ttft_s": 0.5},
            "budget": {"trials": 3, "max_retries": 0},
            "deploy": {"deployer": "local", "ready_timeout_s": 15},
        }
        | changes,
        "test",
    )
    notebook = Notebook()
    clock = SystemClock()
    run_sweep(
        study,
        study_id="local-1",
        candidates=candidates_of(study, read_hardware()),
        folder=folder,
        runner=LocalRunner(LocalDeployer(clock), clock),
        observer=notebook,
        clock=clock,
        past=past,
    )
    return notebook


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> tuple[Notebook, Path]:
    folder = tmp_path_factory.mktemp("study")
    return run(folder), folder


def test_a_space_of_one_point_is_measured_once(notebook: tuple[Notebook, Path]) -> None:
    seen, _ = notebook
    assert len(seen.endings) == 1
    outcome, times = next(iter(seen.endings.values()))
    assert isinstance(outcome, Completed)
    assert times.replay_s > 2.6
    assert times.engine_start_s > 0
    assert times.overhead_s > 0


def test_every_load_has_one_measurement_with_exact_tokens(notebook: tuple[Notebook, Path]) -> None:
    seen, _ = notebook
    (measurements,) = seen.measurements.values()
    assert [one.offered_rps for one in measurements] == [20, 40]
    assert [one.num_issued for one in measurements] == [20, 40]
    for one in measurements:
        assert one.num_failed == 0
        assert one.output_tokens.mean == 6
        assert one.is_simulated
        assert one.ttft_s.mean is not None
        assert one.ttft_s.mean >= TTFT_S
        assert one.fidelity.verdict is not Verdict.INVALID


def test_raw_data_lies_beside_the_figures(notebook: tuple[Notebook, Path]) -> None:
    seen, folder = notebook
    (trial_id,) = seen.trials
    log = read_records(folder / trial_id / "load-40000" / "requests.parquet")
    assert sum(log.window.start_ns <= one.intended_ns < log.window.end_ns for one in log.records) == 40
    telemetry = read_telemetry(folder / trial_id / "telemetry.parquet")
    memory = telemetry.get("host_memory_bytes")
    assert memory is not None
    assert memory.values.min() > 1_000_000
    assert telemetry.get("engine_requests_running") is not None


def test_what_is_measured_is_not_measured_again(notebook: tuple[Notebook, Path], tmp_path: Path) -> None:
    seen, _ = notebook
    (trial,) = seen.trials.values()
    first = seen.measurements[trial.trial_id][0]
    again = run(tmp_path, past=(PastTrial(trial, (first,), None),))
    (measured,) = again.measurements.values()
    assert [one.offered_rps for one in measured] == [40]
    outcome, _ = again.endings[trial.trial_id]
    assert isinstance(outcome, Completed)
    assert outcome.measurements[0] == first


def test_an_ended_trial_is_not_run_again(notebook: tuple[Notebook, Path], tmp_path: Path) -> None:
    seen, _ = notebook
    (trial,) = seen.trials.values()
    outcome, _ = seen.endings[trial.trial_id]
    again = run(tmp_path, past=(PastTrial(trial, tuple(seen.measurements[trial.trial_id]), outcome),))
    assert not again.trials


def test_an_impossible_configuration_is_infeasible_and_deploys_nothing(tmp_path: Path) -> None:
    engines = [{"name": "simulated", "config": {"tp": 2}, "search": {}}]
    seen = run(tmp_path, engines=engines)
    ((outcome, times),) = seen.endings.values()
    assert isinstance(outcome, Infeasible)
    assert outcome.violations
    assert times.engine_start_s == 0
    assert not seen.facts
