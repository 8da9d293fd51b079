import pytest

from orchestrator.search.pruning import is_behind


@pytest.mark.parametrize(
    ("value", "others", "behind"),
    [
        (1.0, [10.0, 10.0, 10.0], False),
        (8.9, [10.0] * 4, True),
        (9.1, [10.0] * 4, False),
        (8.9, [1.0, 2.0, 10.0, 90.0], False),
        (0.0, [0.0] * 4, False),
    ],
)
def test_only_a_clear_distance_to_the_median_of_enough_others_counts(
    *, value: float, others: list[float], behind: bool
) -> None:
    assert is_behind(value, others) is behind
