import pytest
from pydantic import ValidationError

from search_spaces import Constraint, Parameter, SearchSpace, SpaceError, load_space

SPACE = SearchSpace(
    engine="toy",
    parameters=(
        Parameter(name="n_batch", kind="choice", values=(64, 128), default=128, unit="tokens"),
        Parameter(name="n_ubatch", kind="int", low=32, high=256, step=32, default=64),
        Parameter(name="limit", kind="choice", values=(1, 2)),
    ),
    constraints=(Constraint(left="n_batch", op=">=", right="n_ubatch", why="it is cut otherwise"),),
)


def test_defaults_leave_out_what_the_engine_leaves_open() -> None:
    assert SPACE.defaults() == {"n_batch": 128, "n_ubatch": 64}


def test_defaults_stand_in_for_what_an_assignment_leaves_out() -> None:
    assert SPACE.violations({}) == []
    assert len(SPACE.violations({"n_ubatch": 160})) == 1


def test_size_is_the_product() -> None:
    assert SPACE.size() == 2 * 8 * 2
    endless = SearchSpace(engine="toy", parameters=(Parameter(name="x", kind="float", low=0, high=1),))
    assert endless.size() is None


def test_none_keeps_the_whole_space() -> None:
    assert SPACE.restricted(None) is SPACE


def test_nothing_searched_is_one_assignment() -> None:
    nothing = SPACE.restricted({})
    assert nothing.size() == 1
    assert nothing.defaults() == {}


def test_restricting_makes_a_choice_of_the_listed_values_and_keeps_the_default() -> None:
    (only,) = SPACE.restricted({"n_ubatch": [96, 100]}).parameters
    assert (only.kind, only.values, only.default) == ("choice", (96, 100), 64)


def test_a_flag_that_is_no_longer_searched_still_counts_in_constraints() -> None:
    restricted = SPACE.restricted({"n_ubatch": [64, 160]})
    assert restricted.violations({"n_ubatch": 64}) == []
    assert restricted.violations({"n_ubatch": 160}) == SPACE.violations({"n_ubatch": 160}) != []


def test_an_unknown_flag_is_named_with_the_nearest() -> None:
    with pytest.raises(SpaceError, match=r"n_batc: toy has no such searchable flag; .* did you mean 'n_batch'"):
        SPACE.restricted({"n_batc": [1]})


@pytest.mark.parametrize(("values", "message"), [([], "at least one value"), ([1, 1], "listed twice")])
def test_an_unusable_list_of_values_is_refused(values: list[object], message: str) -> None:
    with pytest.raises(SpaceError, match=f"n_batch: .*{message}"):
        SPACE.restricted({"n_batch": values})


def test_a_constraint_on_an_unknown_flag_is_refused() -> None:
    with pytest.raises(ValidationError, match="unknown flags"):
        SearchSpace(engine="toy", constraints=(Constraint(left="a", op=">=", right=1, why="so"),))


def test_a_flag_listed_twice_is_refused() -> None:
    flag = Parameter(name="a", kind="choice", values=(1,))
    with pytest.raises(ValidationError, match="listed twice"):
        SearchSpace(engine="toy", parameters=(flag, flag))


def test_what_a_study_fixes_counts_in_constraints_instead_of_the_default() -> None:
    space = SearchSpace.model_validate(
        {
            "engine": "any",
            "parameters": [
                {"name": "batching", "kind": "choice", "values": [True, False], "default": False},
                {"name": "block", "kind": "choice", "values": [16, 32]},
            ],
            "constraints": [
                {"left": "block", "op": "<", "right": 0, "when": {"batching": [False]}, "why": "of no effect"}
            ],
        }
    ).restricted({"block": [16, 32]})
    assert len(space.violations({"block": 16})) == 1
    assert space.fixed({"batching": True}).violations({"block": 16}) == []


def test_what_a_study_fixes_is_the_default_of_a_searched_flag() -> None:
    space = load_space("llamacpp").restricted({"n_parallel": [2, 8]}).fixed({"n_parallel": 4, "n_ctx": 2048})
    assert space.defaults() == {"n_parallel": 4}
    assert space.held["n_ctx"] == 2048
