from workloads.likeness.table import compare

SEEN = {"Fano factor at 1 s": 10.0, "input-output rank correlation": 0.5, "input tokens P50": 100.0}


def test_each_trait_is_judged_by_its_own_tolerance() -> None:
    made = {"Fano factor at 1 s": 11.4, "input-output rank correlation": 0.56, "input tokens P50": 104.0}
    rows = {row.trait: row for row in compare(SEEN, made, others=[], seed=0).rows}
    assert [rows[trait].passes for trait in SEEN] == [True, False, True]
    assert rows["Fano factor at 1 s"].noise is None


def test_noise_above_the_tolerance_is_the_limit_and_is_shown() -> None:
    made = {**SEEN, "Fano factor at 1 s": 12.5}
    others = [{**SEEN, "Fano factor at 1 s": value} for value in (7.0, 10.0, 13.0)]
    row = compare(SEEN, made, others=others, seed=0).rows[0]
    assert row.noise is not None
    assert row.noise > row.tolerance
    assert row.passes


def test_a_trait_that_the_twin_lacks_does_not_pass() -> None:
    likeness = compare(SEEN, {"Fano factor at 1 s": 10.0}, others=[], seed=0)
    assert [row.passes for row in likeness.rows] == [True, False, False]
    assert not likeness.passes
