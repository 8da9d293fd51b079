"""A study whose model ends its own answers, and whose requests ask adapters, on the simulated engine."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Failed, TrialOutcome
from orchestrator.replay import read_records
from tests.integration.test_local_study import Notebook, run

FIXED = {"kind": "fixed", "input_tokens": 12, "output_tokens": 6, "pattern": "constant"}
ENDS_AT = 3


def study(folder: Path, workload: dict[str, Any], **config: object) -> Notebook:
    engine = {"name": "simulated", "config": {"ttft_s": 0.02, "itl_s": 0.002, **config}, "search": {}}
    return run(folder, engines=[engine], workload={"source": FIXED, **workload}, load={"rates_rps": [40]})


def only_measurement(notebook: Notebook) -> Measurement:
    ((measurement,),) = notebook.measurements.values()
    return measurement


def only_outcome(notebook: Notebook) -> TrialOutcome:
    ((outcome, _),) = notebook.endings.values()
    return outcome


@pytest.mark.parametrize(("stop", "tokens"), [("natural", ENDS_AT), ("forced", 6)])
def test_a_natural_stop_is_the_models_and_is_recorded(tmp_path: Path, stop: str, tokens: int) -> None:
    seen = only_measurement(study(tmp_path, {"stop": stop}, eos_after_tokens=ENDS_AT))
    assert (seen.stop, seen.output_tokens.mean, seen.num_failed) == (stop, tokens, 0)
    ended_by_stop = seen.num_completed if stop == "natural" else 0
    assert (seen.num_ended_by_stop, seen.num_ended_by_length) == (ended_by_stop, seen.num_completed - ended_by_stop)


def test_requests_ask_the_adapters_of_the_schedule(tmp_path: Path) -> None:
    seen = study(tmp_path, {"lora": {"sql": 0.5}}, lora_modules="sql")
    assert only_measurement(seen).num_failed == 0
    (trial_id,) = seen.trials
    load = tmp_path / trial_id / "load-40000"
    asked = pq.read_table(load / "schedule.parquet")["lora"].to_pylist()
    assert set(asked) == {"sql", None}
    assert {one.index for one in read_records(load / "requests.parquet").records} <= set(range(len(asked)))


def test_an_adapter_that_is_not_served_fails_the_trial_by_name(tmp_path: Path) -> None:
    outcome = only_outcome(study(tmp_path, {"lora": {"chat": 0.5}}, lora_modules="sql"))
    assert isinstance(outcome, Failed)
    assert "workload.lora asks chat, which the engine does not serve; it serves none, sql" in outcome.reason
