import pytest
from pydantic import ValidationError

from search_spaces import Constraint

BATCH = Constraint(left="n_batch", op=">=", right="n_ubatch", why="it is cut otherwise")


def test_it_says_which_values_break_it_and_why() -> None:
    assert BATCH.violation({"n_batch": 64, "n_ubatch": 128}) == (
        "n_batch >= n_ubatch: it is cut otherwise; seen n_batch=64, n_ubatch=128"
    )
    assert BATCH.violation({"n_batch": 128, "n_ubatch": 128}) is None


def test_a_factor_multiplies_the_right_side() -> None:
    share = Constraint(left="n_ctx", op=">=", right="n_parallel", factor=256, why="each slot needs a share")
    assert share.violation({"n_ctx": 1024, "n_parallel": 4}) is None
    assert "n_ctx >= 256 * n_parallel" in str(share.violation({"n_ctx": 1023, "n_parallel": 4}))


@pytest.mark.parametrize(
    ("op", "holding"), [(">=", [2, 3]), (">", [3]), ("<=", [1, 2]), ("<", [1]), ("==", [2]), ("!=", [1, 3])]
)
def test_every_comparison_with_a_number(op: str, holding: list[int]) -> None:
    constraint = Constraint.model_validate({"left": "flag", "op": op, "right": 2, "why": "so"})
    assert [value for value in (1, 2, 3) if constraint.violation({"flag": value}) is None] == holding


def test_it_holds_its_tongue_where_its_condition_is_not_met() -> None:
    flash = Constraint(
        left="flash", op="in", values=("auto", "enabled"), when={"cache_type_v": ("q8_0",)}, why="needs it"
    )
    assert flash.violation({"flash": "disabled", "cache_type_v": "f16"}) is None
    assert flash.violation({"flash": "auto", "cache_type_v": "q8_0"}) is None
    assert "where cache_type_v in ['q8_0']" in str(flash.violation({"flash": "disabled", "cache_type_v": "q8_0"}))


def test_a_flag_without_a_value_is_not_judged() -> None:
    assert BATCH.violation({"n_batch": 64}) is None


@pytest.mark.parametrize("fields", [{"op": "in"}, {"op": ">="}, {"op": "in", "right": 1}, {"op": ">=", "values": (1,)}])
def test_a_right_side_of_the_wrong_kind_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="`in` takes values"):
        Constraint.model_validate({"left": "flag", "why": "so", **fields})
