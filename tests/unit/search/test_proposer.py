import itertools
from collections import Counter
from typing import Any

import pytest

from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned, TrialOutcome
from orchestrator.search.proposer import Proposal, Proposer, SamplerName
from search_spaces import Constraint, Parameter, SearchSpace

SPACE = SearchSpace(
    engine="made-up",
    parameters=(
        Parameter(name="batch", kind="choice", values=(32, 64, 128, 256, 512), default=32),
        Parameter(name="slots", kind="int", low=1, high=8, default=1),
        Parameter(name="flash", kind="choice", values=(True, False), default=False),
    ),
)
BEST = {"batch": 256, "slots": 6, "flash": True}


def surface(assignment: dict[str, Any]) -> int:
    """Score 30 at the planted best setting, less the further away a flag is."""
    whole = {**SPACE.defaults(), **assignment}
    batches = [32, 64, 128, 256, 512]
    distance = abs(batches.index(whole["batch"]) - 3) * 3 + abs(whole["slots"] - 6) * 2 + (not whole["flash"]) * 4
    return 30 - int(distance)


def outcome_of(assignment: dict[str, Any]) -> TrialOutcome:
    return Completed((), surface(assignment))


def searched(proposer: Proposer, count: int) -> list[Proposal]:
    """Ask and tell one after the other."""
    proposals = []
    for _ in range(count):
        proposal = proposer.ask()
        assert proposal is not None
        proposer.tell(proposal.number, outcome_of(proposal.assignment))
        proposals.append(proposal)
    return proposals


def test_trial_0_is_the_engines_defaults() -> None:
    assert Proposer(SPACE, sampler="tpe", seed=3).ask() == Proposal(0, {})


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_numbers_count_up_and_nothing_is_proposed_twice(sampler: SamplerName) -> None:
    proposals = searched(Proposer(SPACE, sampler=sampler, seed=1), 80)
    assert [one.number for one in proposals] == list(range(80))
    wholes = [tuple(sorted({**SPACE.defaults(), **one.assignment}.items())) for one in proposals]
    assert Counter(wholes).most_common(1)[0][1] == 1
    assert set(wholes) == {
        tuple(sorted({"batch": batch, "slots": slots, "flash": flash}.items()))
        for batch, slots, flash in itertools.product((32, 64, 128, 256, 512), range(1, 9), (True, False))
    }


def test_an_exhausted_space_is_said_to_be() -> None:
    proposer = Proposer(SPACE.restricted({"flash": [True, False]}), sampler="tpe", seed=1)
    assert [one.assignment for one in searched(proposer, 2)] == [{}, {"flash": True}]
    assert proposer.ask() is None


def test_a_study_that_searches_nothing_has_its_defaults_only() -> None:
    proposer = Proposer(SPACE.restricted({}), sampler="random", seed=1)
    assert (proposer.ask(), proposer.ask()) == (Proposal(0, {}), None)


def test_defaults_outside_the_searched_values_are_tried_all_the_same() -> None:
    proposer = Proposer(SPACE.restricted({"batch": [64, 128]}), sampler="tpe", seed=1)
    defaults, *others = searched(proposer, 3)
    assert defaults.assignment == {}
    assert {one.assignment["batch"] for one in others} == {64, 128}
    assert proposer.ask() is None


def test_a_planted_best_setting_is_found() -> None:
    found = [
        max(searched(Proposer(SPACE, sampler="tpe", seed=seed), 30), key=lambda one: surface(one.assignment)).assignment
        for seed in range(5)
    ]
    assert sum(one == BEST for one in found) >= 4  # 30 of 80 settings: by chance it is found by 2 of 5


def test_assignments_that_break_the_spaces_own_constraints_are_never_proposed() -> None:
    constraint = Constraint(left="batch", op=">=", right="slots", factor=32, why="a slot needs its share")
    space = SPACE.model_copy(update={"constraints": (constraint,)})
    allowed = sum(batch >= 32 * slots for batch in (32, 64, 128, 256, 512) for slots in range(1, 9)) * 2
    proposer = Proposer(space, sampler="tpe", seed=2)
    proposals = searched(proposer, allowed)
    assert all(not space.violations(one.assignment) for one in proposals)
    assert proposer.ask() is None


def test_infeasible_regions_are_avoided_more_than_by_chance() -> None:
    wide = SearchSpace(engine="made-up", parameters=(Parameter(name="n", kind="int", low=0, high=999, default=0),))
    shares = []
    for seed in range(6):
        proposer = Proposer(wide, sampler="tpe", seed=seed)
        seen = []
        for _ in range(40):
            proposal = proposer.ask()
            assert proposal is not None
            n = proposal.assignment.get("n", 0)
            seen.append(n >= 500)
            outcome = Infeasible("does not fit") if n >= 500 else Completed((), float(n % 100))
            proposer.tell(proposal.number, outcome)
        shares.append(sum(seen[10:]) / 30)
    assert sum(shares) / len(shares) < 0.35  # half of the space is infeasible


def test_a_resumed_search_goes_on_as_an_uninterrupted_one() -> None:
    whole = searched(Proposer(SPACE, sampler="tpe", seed=7), 20)
    resumed = Proposer(SPACE, sampler="tpe", seed=7)
    for past in whole[:12]:
        resumed.recall(past.assignment, outcome_of(past.assignment))
    assert searched(resumed, 8) == whole[12:]


def test_unfinished_trials_come_first_and_keep_their_numbers() -> None:
    proposer = Proposer(SPACE, sampler="tpe", seed=7)
    proposer.recall({}, Completed((), 1.0), number=0)
    proposer.recall({"batch": 64, "slots": 2, "flash": True}, None, number=1)
    proposer.recall({"batch": 128, "slots": 2, "flash": True}, Failed("lost"), number=4)
    assert proposer.ask() == Proposal(1, {"batch": 64, "slots": 2, "flash": True})
    proposer.tell(1, Completed((), 2.0))
    following = proposer.ask()
    assert following is not None
    assert following.number == 5


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("end", [Completed, Pruned])
def test_nothing_that_is_not_finite_is_told(bad: float, end: type[Completed] | type[Pruned]) -> None:
    proposer = Proposer(SPACE, sampler="tpe", seed=1)
    proposer.ask()
    with pytest.raises(ValueError, match="finite"):
        proposer.tell(0, end((), bad))
    with pytest.raises(ValueError, match="finite"):
        proposer.should_prune(0, 0, bad)
    proposer.tell(0, Completed((), 1.0))  # the trial is still there to be told properly


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Completed((), 1.0), "COMPLETE"),
        (Infeasible("no"), "COMPLETE"),
        (Failed("lost"), "FAIL"),
        (Pruned((), 0.5), "PRUNED"),
        (Pruned((), None), "PRUNED"),
    ],
)
def test_each_end_is_told_as_what_it_is(outcome: TrialOutcome, state: str) -> None:
    proposer = Proposer(SPACE, sampler="tpe", seed=1)
    proposer.ask()
    proposer.tell(0, outcome)
    told = proposer._study.trials[0]
    assert told.state.name == state
    assert (max(told.constraints.values(), default=0) > 0) is isinstance(outcome, Infeasible)


def test_only_a_running_trial_can_be_told() -> None:
    proposer = Proposer(SPACE, sampler="tpe", seed=1)
    with pytest.raises(ValueError, match="not running"):
        proposer.tell(0, Failed("never asked"))


def test_several_trials_may_run_at_once() -> None:
    proposer = Proposer(SPACE, sampler="tpe", seed=1)
    asked = [one for one in (proposer.ask() for _ in range(6)) if one is not None]
    for one in reversed(asked):
        proposer.tell(one.number, outcome_of(one.assignment))
    assert len({str(one.assignment) for one in asked}) == 6


def test_a_trial_clearly_behind_is_pruned_and_the_defaults_never() -> None:
    proposer = Proposer(SPACE, sampler="tpe", seed=1)
    assert not any(proposer.should_prune(number, 0, 10.0) for number in range(1, 5))
    assert proposer.should_prune(5, 0, 8.0)
    assert not proposer.should_prune(6, 0, 9.5)
    assert not proposer.should_prune(0, 0, 1.0)
    assert not proposer.should_prune(7, 1, 1.0)  # nobody else has reached this load
