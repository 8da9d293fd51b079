import pytest

from orchestrator.analysis.fairness import REASONS, differences

EQUAL = dict.fromkeys(REASONS, "same")


def test_equal_candidates_have_no_difference() -> None:
    assert differences({"a": EQUAL, "b": dict(EQUAL)}) == ()


def test_a_difference_carries_every_value_and_why_it_matters() -> None:
    (found,) = differences({"a": EQUAL, "b": {**EQUAL, "kv_precision": "fp8"}})
    assert (found.what, dict(found.values)) == ("kv_precision", {"a": "same", "b": "fp8"})
    assert found.why == REASONS["kv_precision"]


def test_what_is_unknown_is_not_taken_for_equal() -> None:
    missing = {key: value for key, value in EQUAL.items() if key != "weights"}
    assert [one.what for one in differences({"a": missing, "b": dict(missing)})] == ["weights"]


def test_one_candidate_alone_differs_from_nobody() -> None:
    assert differences({"a": {}}) == ()


def test_a_condition_that_nobody_explains_is_refused() -> None:
    with pytest.raises(ValueError, match="moon_phase"):
        differences({"a": {"moon_phase": "full"}})
