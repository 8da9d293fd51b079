import pytest
from pydantic import ValidationError

from search_spaces import Parameter


def test_choice_keeps_the_types_of_its_values() -> None:
    values = (1, True, 0.5, "f16")
    assert [type(one) for one in Parameter(name="flag", kind="choice", values=values).values] == [int, bool, float, str]


def test_one_is_not_true() -> None:
    parameter = Parameter(name="flag", kind="choice", values=(1, 2))
    assert parameter.contains(1)
    assert not parameter.contains(True)
    assert not parameter.contains(1.0)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": "int", "low": 1, "high": 8}, 8),
        ({"kind": "int", "low": 0, "high": 10, "step": 4}, 3),
        ({"kind": "float", "low": 0, "high": 1, "step": 0.1}, 11),
        ({"kind": "float", "low": 0, "high": 1}, None),
        ({"kind": "choice", "values": ("a", "b")}, 2),
    ],
)
def test_size_counts_the_values(fields: dict[str, object], expected: int | None) -> None:
    assert Parameter.model_validate({"name": "flag", **fields}).size == expected


def test_a_value_between_steps_is_outside() -> None:
    parameter = Parameter(name="flag", kind="int", low=0, high=10, step=4)
    assert [value for value in range(-4, 15) if parameter.contains(value)] == [0, 4, 8]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "choice"}, "at least one value"),
        ({"kind": "choice", "values": ("a", "a")}, "listed twice"),
        ({"kind": "choice", "values": ("a",), "low": 1}, "belong to a range"),
        ({"kind": "int", "low": 3, "high": 1}, "low <= high"),
        ({"kind": "int", "low": 1}, "low <= high"),
        ({"kind": "int", "low": 1, "high": 2, "values": (1,)}, "belong to a choice"),
        ({"kind": "int", "low": 0.5, "high": 2}, "whole"),
        ({"kind": "float", "low": 0, "high": 1, "log": True}, "low > 0"),
        ({"kind": "float", "low": 0, "high": float("inf")}, "finite"),
        ({"kind": "bool"}, "'choice', 'int' or 'float'"),
    ],
)
def test_what_cannot_be_searched_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Parameter.model_validate({"name": "flag", **fields})


def test_a_choice_has_no_bounds() -> None:
    with pytest.raises(ValueError, match="flag is a choice over"):
        _ = Parameter(name="flag", kind="choice", values=(1,)).bounds
