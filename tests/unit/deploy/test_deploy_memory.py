import pytest

from orchestrator.deploy.memory import is_returned

GIB = 1 << 30


@pytest.mark.parametrize(
    ("held", "after_stop", "expected"),
    [
        (4 * GIB, 10 * GIB, True),
        (4 * GIB, 8 * GIB, True),
        (4 * GIB, 7 * GIB, False),
        (GIB // 100, 6 * GIB, None),
        (None, 10 * GIB, None),
    ],
)
def test_memory_is_back_when_half_of_what_was_held_is_free(
    held: int | None, after_stop: int, *, expected: bool | None
) -> None:
    assert is_returned(held, before_start=10 * GIB, before_stop=6 * GIB, after_stop=after_stop) is expected
