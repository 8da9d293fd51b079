"""Cache policies as engines see them: a simulated one with a prefix cache, and llama.cpp, by their own counters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, TrialOutcome
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.trial import TrialSpec
from orchestrator.studies.candidates import candidates_of
from orchestrator.studies.local_runner import LocalRunner
from orchestrator.studies.reading import parse_study
from orchestrator.studies.sweep import run_sweep
from orchestrator.telemetry.hardware import read_hardware

SIMULATED = {"name": "simulated", "config": {"ttft_s": 0.01, "itl_s": 0.001}, "search": {}}
LLAMACPP = {"name": "llamacpp", "config": {"n_ctx": 1024, "n_parallel": 1, "n_threads": 1}, "search": {}}
CHAT = {"source": {"kind": "published", "name": "chat"}, "lengths": {"output_factor": 0.02}}
FIXED = {"source": {"kind": "fixed", "input_tokens": 100, "output_tokens": 2, "pattern": "constant"}}
LIMITS = Calibration(
    ttft_floor_p50_s=0.0002,
    ttft_floor_p99_s=0.0005,
    itl_error_p99_s=0.0001,
    max_rps=6000,
    max_chunks_per_s=96_000,
    is_ceiling=True,
    measured_at="2030-01-01T00:00:00+00:00",
)


class Notebook:
    """Keeps measurements; what ended badly fails the test with its reason."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []

    def started(self, trial: TrialSpec) -> None: ...

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None: ...

    def measured(self, _trial: TrialSpec, measurement: Measurement) -> None:
        self.measurements.append(measurement)

    def ended(self, _trial: TrialSpec, outcome: TrialOutcome, _times: TrialTimes) -> None:
        assert isinstance(outcome, Completed), outcome


def measured(folder: Path, cache: object, **changes: Any) -> list[Measurement]:
    study = parse_study(
        {
            "name": "cache",
            "model": {"name": "smollm2-135m", "variant": "q8_0"},  # its tokenizer makes prompts exact
            "engines": [SIMULATED],
            "workload": CHAT,
            "load": {"rates_rps": [30, 35]},
            "window": {"warmup_s": 0.3, "measure_s": 1.0, "drain_s": 10},
            "slo": {"ttft_s": 5},
            "budget": {"trials": 1, "max_retries": 0},
            "deploy": {"deployer": "local", "ready_timeout_s": 60},
            "cache": cache,
        }
        | changes,
        "test",
    )
    notebook, clock = Notebook(), SystemClock()
    run_sweep(
        study,
        study_id="cache-1",
        candidates=candidates_of(study, read_hardware()),
        folder=folder,
        runner=LocalRunner(LocalDeployer(clock), clock),
        observer=notebook,
        clock=clock,
        calibration=LIMITS,
    )
    assert not any(one.num_failed for one in notebook.measurements)
    return notebook.measurements


def test_a_cold_cache_hits_only_what_the_traffic_shares_within_itself(tmp_path: Path) -> None:
    for one in measured(tmp_path, "cold"):
        assert one.cache.enforced_by == "reset"
        assert one.cache.checked_hit_ratio == pytest.approx(one.cache.expected_hit_ratio, abs=0.002)
        assert 0 < (one.cache.expected_hit_ratio or 0) < 0.2
        assert one.cache.holds is True
        assert one.calibration == LIMITS


def test_a_natural_cache_is_left_to_what_was_asked_before(tmp_path: Path) -> None:
    first, second = measured(tmp_path, "natural")
    assert first.cache.hit_ratio is not None
    assert second.cache.hit_ratio is not None
    assert second.cache.hit_ratio > first.cache.hit_ratio + 0.2
    assert (second.cache.enforced_by, second.cache.holds) == (None, None)


def test_a_warm_cache_hits_the_stated_share(tmp_path: Path) -> None:
    for one in measured(tmp_path, {"warm": 0.5}):
        assert one.cache.policy == "warm:0.5"
        assert one.cache.checked_hit_ratio == pytest.approx(0.5, abs=0.05)
        assert one.cache.checked_hit_ratio == pytest.approx(one.cache.expected_hit_ratio, abs=0.002)
        assert (one.cache.block_tokens, one.cache.holds) == (16, True)


def test_a_load_that_was_asked_before_with_the_same_salt_is_not_cold_and_degrades_the_measurement(
    tmp_path: Path,
) -> None:
    cold, again = measured(tmp_path, "salted", workload=FIXED, load={"rates_rps": [20, 20]})
    assert cold.cache.holds is True
    assert again.cache.holds is False
    assert any("cache salted did not hold" in reason for reason in again.fidelity.reasons)
    assert again.fidelity.verdict != "sound"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("cache", "rates_rps", "share"), [("cold", [2.5, 3], 0.0), ({"warm": 0.5}, [2.5], 0.5)], ids=["cold", "warm"]
)
def test_llama_cpp_hits_as_the_policy_says(cache: object, rates_rps: list[float], share: float, tmp_path: Path) -> None:
    window = {"warmup_s": 0.4, "measure_s": 1.6, "drain_s": 30}
    changes = {"engines": [LLAMACPP], "workload": FIXED, "load": {"rates_rps": rates_rps}, "window": window}
    for one in measured(tmp_path, cache, **changes):
        assert one.cache.checked_hit_ratio == pytest.approx(share, abs=0.05)
        assert (one.cache.block_tokens, one.cache.holds) == (1, True)
        assert one.cache.enforced_by == ("salt" if cache == "cold" else "prefix")
