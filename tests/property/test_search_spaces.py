from hypothesis import given
from hypothesis import strategies as st

from search_spaces import Constraint, Parameter, SearchSpace

NUMBERS = st.integers(min_value=-1000, max_value=1000)


@given(low=NUMBERS, span=st.integers(0, 200), step=st.integers(1, 20))
def test_an_int_range_holds_as_many_values_as_it_says(low: int, span: int, step: int) -> None:
    parameter = Parameter(name="flag", kind="int", low=low, high=low + span, step=step)
    assert parameter.size == sum(parameter.contains(value) for value in range(low - 5, low + span + 6))


@given(left=NUMBERS, right=NUMBERS, factor=st.integers(1, 9))
def test_a_constraint_and_its_opposite_never_both_hold(left: int, right: int, factor: int) -> None:
    values = {"left": left, "right": right}
    at_least = Constraint(left="left", op=">=", right="right", factor=factor, why="so")
    less = Constraint(left="left", op="<", right="right", factor=factor, why="so")
    assert (at_least.violation(values) is None) != (less.violation(values) is None)


@given(values=st.lists(NUMBERS, min_size=1, unique=True), other=st.lists(NUMBERS, min_size=1, unique=True))
def test_restricting_holds_exactly_what_is_listed(values: list[int], other: list[int]) -> None:
    space = SearchSpace(engine="toy", parameters=(Parameter(name="flag", kind="choice", values=tuple(other)),))
    (flag,) = space.restricted({"flag": values}).parameters
    assert [value for value in range(-1000, 1001) if flag.contains(value)] == sorted(values)
