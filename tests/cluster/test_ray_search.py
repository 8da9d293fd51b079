import os
import signal
from pathlib import Path

import pytest

from orchestrator.cluster import serve_control
from orchestrator.cluster.runner import RayRunner
from orchestrator.deploy.lease import STATE_NAME
from orchestrator.deploy.supervisor import descendants, identify
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.outcome import Completed, Failed, Infeasible
from orchestrator.domain.runner import SearchJob
from orchestrator.domain.trial import TrialSpec
from tests.cluster.searches import Events, a_search

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("session")]


def run(job: SearchJob, events: Events | None = None) -> Events:
    seen = Events() if events is None else events
    RayRunner(SystemClock()).run(job, seen)
    assert serve_control.app_states() == {}
    assert list(job.folder.rglob(STATE_NAME)) == []
    return seen


def test_a_search_begins_with_the_defaults_and_tells_every_event_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    events = run(a_search(tmp_path, trials=2))
    assert events.lines == [
        f"{what} {number}{rest}"
        for number in range(2)
        for what, rest in [
            ("started", ""),
            ("deployed", ""),
            ("measured", " 10000"),
            ("measured", " 20000"),
            ("ended", " Completed"),
        ]
    ]
    assert all(isinstance(one, Completed) and one.score > 0 for one in events.outcomes.values())
    assert "--max-running" not in events.facts[0]["argv"]
    assert "--max-running" in events.facts[1]["argv"]
    assert all(0 < one.overhead_s < one.wall_s for one in events.times.values())
    assert capfd.readouterr().out == ""  # stdout belongs to the artefact


def test_load_workers_of_a_node_send_what_a_trial_measures(tmp_path: Path) -> None:
    events = run(a_search(tmp_path / "sent", trials=1, load_nodes=1))
    outcome = events.outcomes[0]
    assert isinstance(outcome, Completed)
    assert {one.fidelity.late_worker_s is not None for one in outcome.measurements} == {True}
    too_many = run(a_search(tmp_path / "not", trials=1, load_nodes=9)).outcomes[0]
    assert isinstance(too_many, Failed)
    assert "asked for on 9 nodes, the cluster has 1" in str(too_many)


def test_an_infeasible_configuration_is_an_outcome_and_the_search_goes_on(tmp_path: Path) -> None:
    events = run(a_search(tmp_path, trials=2, config={"crash_on_start": "out of memory"}))
    assert [type(one) for one in events.outcomes.values()] == [Infeasible, Infeasible]
    assert "started 1" in events.lines


def test_a_configuration_that_asks_for_too_many_devices_is_infeasible_with_the_numbers(tmp_path: Path) -> None:
    events = run(a_search(tmp_path, trials=1, config={"tp": 4}))
    outcome = events.outcomes[0]
    assert isinstance(outcome, Infeasible)
    assert outcome.reason == "tp * pp: seen 4, allowed at most 1 devices (budget.max_devices, and what the cluster has)"


def test_two_trials_run_at_once_where_two_devices_may_be_used(tmp_path: Path) -> None:
    events = run(a_search(tmp_path, trials=2, max_devices=2))
    assert events.lines.index("started 1") < events.lines.index("ended 0 Completed")
    assert len(events.outcomes) == 2


class Assassin(Events):
    """Kills the trial's actor, once, after its first measurement."""

    def __init__(self) -> None:
        super().__init__()
        self.victims: list[int] = []

    def measured(self, trial: TrialSpec, measurement: object) -> None:
        super().measured(trial, measurement)  # type: ignore[arg-type]
        if not self.victims:
            self.victims = [one.pid for one in descendants(os.getpid()) if b"TrialTrainable" in command(one.pid)]
            os.kill(self.victims[0], signal.SIGKILL)


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_a_killed_actor_costs_one_load_and_its_engine_is_taken_down(tmp_path: Path) -> None:
    events = Assassin()
    run(a_search(tmp_path, trials=1), events)
    assert events.lines == [
        "started 0",
        "deployed 0",
        "measured 0 10000",
        "deployed 0",
        "measured 0 20000",
        "ended 0 Completed",
    ]
    assert all(identify(pid) is None for pid in events.victims)


def test_an_engine_that_keeps_dying_is_tried_as_often_as_the_budget_says(tmp_path: Path) -> None:
    events = run(a_search(tmp_path, trials=1, max_retries=1, config={"crash_after_requests": 5}))
    assert isinstance(events.outcomes[0], Failed)
    assert events.lines.count("started 0") == 1
    assert events.lines.count("deployed 0") == 2
    assert events.lines.count("ended 0 Failed") == 1


def test_no_trial_starts_after_the_deadline(tmp_path: Path) -> None:
    assert run(a_search(tmp_path, trials=3, deadline_s=0.0)).lines == []


def test_a_device_that_no_node_has_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"deploy\.device is GPU, of which the cluster has 0"):
        run(a_search(tmp_path, device="GPU"))
