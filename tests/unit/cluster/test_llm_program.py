from types import SimpleNamespace

import pytest

from orchestrator.cluster.llm_program import at

CONFIG = SimpleNamespace(
    cache=SimpleNamespace(enable_prefix_caching=True, block_size=128, share=0.92, dtype="auto"), quantization=None
)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("cache.enable_prefix_caching", "true"),
        ("cache.block_size", "128"),
        ("cache.share", "0.92"),
        ("cache.dtype", "auto"),
        ("quantization", "null"),
    ],
)
def test_a_setting_is_spelled_as_in_the_json_of_the_engines_own_server(place: str, text: str) -> None:
    assert at(CONFIG, place) == text


def test_a_setting_that_is_not_there_is_not_told() -> None:
    assert at(CONFIG, "cache.missing") is None
    assert at(CONFIG, "nowhere.block_size") is None
