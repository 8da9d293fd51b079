from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.samples import sample_model
from orchestrator.cluster.reports import Deployed, Ended, Interrupted, Measured, Ticket
from orchestrator.cluster.roster import Answer, Roster
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, Failed, Infeasible, TrialOutcome
from orchestrator.domain.runner import PastTrial, SearchJob, TrialTimes
from orchestrator.domain.study import Budget, EngineChoice
from orchestrator.domain.trial import TrialSpec
from orchestrator.search import Proposal
from orchestrator.trials import trial_spec
from tests.study_builders import FixedClock, a_measurement, a_study

LOADS = (1.0, 2.0, 4.0)


class Script:
    """A proposer that plays its proposals and remembers what it is told."""

    def __init__(self, proposals: int = 3, *, prune: bool = False) -> None:
        self.left = [Proposal(number, {} if number == 0 else {"n_parallel": number}) for number in range(proposals)]
        self.prune = prune
        self.told: list[tuple[int, TrialOutcome]] = []
        self.recalled: list[int | None] = []
        self.noted: list[tuple[int, int]] = []

    def ask(self) -> Proposal | None:
        return self.left.pop(0) if self.left else None

    def tell(self, number: int, outcome: TrialOutcome) -> None:
        self.told.append((number, outcome))

    def recall(self, assignment: Mapping[str, Any], outcome: TrialOutcome | None, *, number: int | None = None) -> None:  # noqa: ARG002 - the protocol's
        self.recalled.append(number)

    def should_prune(self, number: int, step_index: int, value: float) -> bool:  # noqa: ARG002 - the protocol's
        return self.prune

    def note(self, number: int, step_index: int, value: float) -> None:  # noqa: ARG002 - the protocol's
        self.noted.append((number, step_index))


class Log:
    """An observer that writes down what it sees, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.times: list[TrialTimes] = []

    def started(self, trial: TrialSpec) -> None:
        self.events.append(f"started {trial.number}")

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        self.events.append(f"deployed {trial.number} {facts['argv']}")

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:
        self.events.append(f"measured {trial.number} {measurement.step}")

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        self.events.append(f"ended {trial.number} {type(outcome).__name__}")
        self.times.append(times)


def a_job(**changes: Any) -> SearchJob:
    study = changes.pop("study", a_study(budget=Budget(trials=3, max_retries=1)))
    values: dict[str, Any] = {
        "study": study,
        "study_id": "demo-1",
        "choice": EngineChoice(name="llamacpp"),
        "model": sample_model("none"),
        "environment": EngineEnvironment("own"),
        "folder": Path("trials"),
        "trials": 3,
    }
    return SearchJob(**(values | changes))


class Search:
    """A roster with its surroundings."""

    def __init__(self, *, prune: bool = False, max_live: int = 1, **changes: Any) -> None:
        self.clock = FixedClock()
        self.proposer = Script(prune=prune)
        self.log = Log()
        self.roster = Roster(a_job(**changes), self.proposer, self.log, clock=self.clock, max_live=max_live)

    def ticket(self, holder: str) -> Ticket:
        ticket = self.roster.hand_out(holder)
        assert isinstance(ticket, Ticket)
        return ticket

    def deploy(self, holder: str) -> None:
        self.roster.take(holder, Deployed({"argv": "x"}, engine_start_s=2.0, waited_s=5.0))

    def measure(self, holder: str, index: int) -> bool:
        return self.roster.take(holder, Measured(index, a_measurement(LOADS[index]), replay_s=10.0 * (index + 1)))

    def end(self, holder: str, outcome: TrialOutcome) -> None:
        self.roster.take(holder, Ended(outcome, None))


def test_a_trial_from_handing_out_to_its_end() -> None:
    search = Search()
    assert search.ticket("a").trial.assignment == {}
    search.deploy("a")
    for index in range(3):
        assert not search.measure("a", index)
    search.clock.time_s += 40.0
    search.end("a", Completed((), 1.0))
    assert search.log.events == [
        "started 0",
        "deployed 0 x",
        "measured 0 1000",
        "measured 0 2000",
        "measured 0 4000",
        "ended 0 Completed",
    ]
    assert search.proposer.told == [(0, Completed((), 1.0))]
    times = search.log.times[0]
    assert times == TrialTimes(
        wall_s=35.0, engine_start_s=2.0, replay_s=30.0
    )  # waiting for others' devices is not ours
    assert times.overhead_s == pytest.approx(3.0)


def test_no_more_run_at_once_than_may() -> None:
    search = Search(max_live=2)
    search.ticket("a")
    search.ticket("b")
    assert search.roster.hand_out("c") is Answer.WAIT


def test_the_search_is_over_only_when_the_last_trial_is() -> None:
    search = Search(max_live=3)
    for holder in "abc":
        search.ticket(holder)
    search.end("a", Infeasible("no"))
    assert search.roster.hand_out("d") is Answer.WAIT
    search.end("b", Infeasible("no"))
    search.end("c", Infeasible("no"))
    assert search.roster.hand_out("d") is Answer.OVER


def test_no_trial_starts_after_the_deadline() -> None:
    search = Search(deadline_s=60.0)
    search.ticket("a")
    search.clock.time_s += 61.0
    search.end("a", Completed((), 1.0))
    assert search.roster.hand_out("b") is Answer.OVER
    assert search.log.events == ["started 0", "ended 0 Completed"]


def test_a_failed_trial_is_tried_again_with_what_it_measured() -> None:
    search = Search()
    search.ticket("a")
    search.measure("a", 0)
    search.end("a", Failed("the node went away"))
    again = search.ticket("b")
    assert again.trial.number == 0
    assert [one.step for one in again.known] == [1000]
    search.measure("b", 0)
    search.end("b", Failed("again"))
    assert search.log.events == ["started 0", "measured 0 1000", "ended 0 Failed"]
    assert search.proposer.told == [(0, Failed("again"))]


def test_a_lost_actor_counts_as_failed() -> None:
    search = Search()
    search.ticket("a")
    search.roster.lose("a", "killed")
    assert search.ticket("b").trial.number == 0
    search.roster.lose("b", "killed")
    assert search.proposer.told == [(0, Failed("the trial's process was lost: killed"))]


def test_an_infeasible_trial_is_never_tried_again() -> None:
    search = Search()
    search.ticket("a")
    search.end("a", Infeasible("no"))
    assert search.ticket("b").trial.number == 1


def test_a_retry_after_the_deadline_does_not_start_and_the_trial_has_its_end() -> None:
    search = Search(deadline_s=60.0)
    search.ticket("a")
    search.end("a", Failed("gone"))
    search.clock.time_s += 61.0
    assert search.roster.hand_out("b") is Answer.OVER
    assert search.log.events == ["started 0", "ended 0 Failed"]


def test_a_stopped_search_hands_out_nothing_and_leaves_the_trial_without_an_end() -> None:
    search = Search()
    search.ticket("a")
    search.measure("a", 0)
    search.roster.stop()
    assert search.roster.hand_out("b") is Answer.WAIT
    search.roster.take("a", Interrupted(None))
    assert search.roster.hand_out("b") is Answer.OVER
    assert search.log.events == ["started 0", "measured 0 1000"]
    assert search.proposer.told == []


def test_a_trial_that_is_behind_is_pruned_but_not_at_its_last_load() -> None:
    search = Search(prune=True)
    search.ticket("a")
    assert search.measure("a", 0)
    assert search.measure("a", 1)
    assert not search.measure("a", 2)
    assert search.proposer.noted == [(0, 2)]


def test_pruning_can_be_switched_off() -> None:
    study = a_study(search=a_study().search.model_copy(update={"prune": False}))
    search = Search(prune=True, study=study)
    search.ticket("a")
    assert not search.measure("a", 0)


def test_an_unfinished_trial_of_an_earlier_run_skips_what_it_has() -> None:
    first = a_job()
    ended = PastTrial(trial_spec(first, 0, {}), (a_measurement(1.0),), Completed((a_measurement(1.0),), 1.0))
    broken = PastTrial(trial_spec(first, 1, {"n_parallel": 1}), (a_measurement(1.0),), None)
    search = Search(past=(broken, ended))
    assert search.proposer.recalled == [0, 1]
    search.proposer.left = [Proposal(1, {"n_parallel": 1})]
    ticket = search.ticket("a")
    assert [one.step for one in ticket.known] == [1000]
    search.measure("a", 0)
    search.measure("a", 1)
    assert search.log.events == ["started 1", "measured 1 2000"]


def test_a_ticket_survives_the_journey() -> None:
    ticket = Search().ticket("a").model_copy(update={"known": (a_measurement(1.0),)})
    assert Ticket.model_validate_json(ticket.model_dump_json(by_alias=True)) == ticket
