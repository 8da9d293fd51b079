"""Small searches on the simulated engine, and a driver that runs one as a program of its own.

Its events go to stderr, one a line, since stdout belongs to the artefact.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.samples import sample_model
from orchestrator.cluster.runner import RayRunner
from orchestrator.cluster.session import ray_session
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import TrialOutcome
from orchestrator.domain.runner import SearchJob, TrialTimes
from orchestrator.domain.slo import Slo
from orchestrator.domain.study import Budget, DeploySpec, EngineChoice, ModelChoice, StudySpec, Walk, WindowSpec
from orchestrator.domain.trial import TrialSpec
from workloads.workload import FixedSource, Workload

MODEL = sample_model("none", name="simulated")


def a_search(folder: Path, *, measure_s: float = 1.0, **changes: object) -> SearchJob:
    """Describe a search with two offered loads; `changes` are fields of its engine choice, budget or deployment."""
    choice = EngineChoice(
        name="simulated",
        config=changes.pop("config", {}),
        search=changes.pop("search", {"max_running": [2, 4]}),
    )
    budget = Budget(**{name: changes.pop(name) for name in ("trials", "max_devices", "max_retries") if name in changes})
    study = StudySpec(
        name="cluster-test",
        model=ModelChoice(name=MODEL.name),
        engines=(choice,),
        workload=Workload(source=FixedSource(input_tokens=16, output_tokens=8), content="english"),
        load=Walk(rates_rps=(10.0, 20.0)),
        window=WindowSpec(warmup_s=0.2, measure_s=measure_s, drain_s=5.0),
        slo=Slo(ttft_s=0.5),
        budget=budget,
        deploy=DeploySpec(
            via=changes.pop("via", "engine"),
            device=changes.pop("device", "CPU"),
            load_nodes=changes.pop("load_nodes", None),
        ),
    )
    values: dict[str, Any] = {
        "study": study,
        "study_id": "cluster-test-1",
        "choice": choice,
        "model": MODEL,
        "environment": EngineEnvironment("own", interpreter=Path(sys.executable)),
        "folder": folder,
        "trials": budget.trials,
    }
    return SearchJob(**(values | changes))


class Events:
    """An observer that keeps what it sees; `tell` is called with a line an event."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.outcomes: dict[int, TrialOutcome] = {}
        self.times: dict[int, TrialTimes] = {}
        self.facts: dict[int, Mapping[str, str]] = {}

    def started(self, trial: TrialSpec) -> None:
        self.tell(f"started {trial.number}")

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        self.facts[trial.number] = facts
        self.tell(f"deployed {trial.number}")

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:
        self.tell(f"measured {trial.number} {measurement.step}")

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        self.outcomes[trial.number], self.times[trial.number] = outcome, times
        self.tell(f"ended {trial.number} {type(outcome).__name__}")

    def tell(self, line: str) -> None:
        self.lines.append(line)


class Spoken(Events):
    """Events that are printed as they come."""

    def tell(self, line: str) -> None:
        super().tell(line)
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def main() -> None:
    """Run a search with long loads in the folder that is named."""
    with ray_session(http=False):
        RayRunner(SystemClock()).run(a_search(Path(sys.argv[1]), measure_s=float(sys.argv[2]), trials=3), Spoken())


if __name__ == "__main__":
    main()
