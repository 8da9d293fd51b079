import pytest

from orchestrator.search.distributions import distributions, grid, to_assignment, to_params
from search_spaces import Parameter, SearchSpace

SPACE = SearchSpace(
    engine="made-up",
    parameters=(
        Parameter(name="kind", kind="choice", values=("f16", 1, True), default="f16"),
        Parameter(name="n", kind="int", low=2, high=8, step=2, default=2),
        Parameter(name="share", kind="float", low=0.1, high=0.4, step=0.1, default=0.1),
    ),
)


def test_every_point_of_the_grid_goes_to_optuna_and_back() -> None:
    points = list(grid(SPACE))
    assert len(points) == SPACE.size() == 3 * 4 * 4
    for point in points:
        params = to_params(SPACE, point)
        assert params is not None
        back = to_assignment(SPACE, params)
        assert back == point
        assert type(back["kind"]) is type(point["kind"])
        for name, one in distributions(SPACE).items():
            assert one._contains(one.to_internal_repr(params[name]))


@pytest.mark.parametrize("outside", [{"n": 3}, {"n": 10}, {"kind": "q8"}, {"share": 0.15}, {"kind": False}])
def test_what_lies_outside_has_no_place(outside: dict[str, object]) -> None:
    assert to_params(SPACE, {**SPACE.defaults(), **outside}) is None


def test_an_infinite_space_is_not_walked() -> None:
    endless = SearchSpace(engine="made-up", parameters=(Parameter(name="x", kind="float", low=0, high=1, default=0.5),))
    assert list(grid(endless)) == []
