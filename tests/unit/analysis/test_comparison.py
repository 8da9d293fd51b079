from orchestrator.analysis.comparison import compare_to_defaults
from orchestrator.domain.outcome import Completed, Failed


def test_the_ratio_is_told_without_a_claim_of_significance() -> None:
    found = compare_to_defaults({0: Completed((), 2.0), 3: Completed((), 3.0)}, "goodput_rps")
    assert found is not None
    assert (found.best_number, found.ratio) == (3, 1.5)
    assert "1.50 times the defaults" in found.text
    assert "was not tested" in found.text
    assert "significant" not in found.text


def test_no_change_is_a_result() -> None:
    found = compare_to_defaults({0: Completed((), 2.0), 1: Completed((), 2.0)}, "goodput_rps")
    assert found is not None
    assert (found.best_number, found.ratio) == (0, 1.0)
    assert found.text.startswith("No configuration scored above the defaults")


def test_defaults_that_scored_nothing_give_no_ratio() -> None:
    found = compare_to_defaults({0: Completed((), 0.0), 1: Completed((), 2.0)}, "goodput_rps")
    assert found is not None
    assert found.ratio is None


def test_without_measured_defaults_there_is_nothing_to_compare_to() -> None:
    assert compare_to_defaults({0: Failed("lost"), 1: Completed((), 2.0)}, "goodput_rps") is None
