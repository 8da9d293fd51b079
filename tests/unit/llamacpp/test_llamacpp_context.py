import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.llamacpp.config import LlamaCppConfig
from adapters.llamacpp.context import allocated_tokens, kv_cache_bytes, slot_tokens
from adapters.protocol import ModelRef

MIB = 1 << 20


@pytest.mark.parametrize(
    ("settings", "allocated", "share"),
    [  # as the engine itself logged them
        ({}, 8192, 8192),
        ({"n_parallel": 4}, 32768, 8192),
        ({"n_parallel": 4, "kv_unified": True}, 8192, 8192),
        ({"n_ctx": 1000, "n_parallel": 4}, 1024, 256),
        ({"n_ctx": 100, "n_parallel": 8}, 2048, 256),
        ({"n_ctx": 2048, "n_parallel": 4, "kv_unified": True}, 2048, 2048),
        ({"n_ctx": 32768}, 32768, 8192),
        ({"n_ctx": 200000}, 200192, 8192),
    ],
)
def test_context_is_shared_out_as_the_engine_does(
    model: ModelRef, settings: dict[str, object], allocated: int, share: int
) -> None:
    config = LlamaCppConfig.model_validate(settings)
    assert (allocated_tokens(config, model), slot_tokens(config, model)) == (allocated, share)


@pytest.mark.parametrize(
    ("settings", "mib"),
    [  # as the engine itself logged them
        ({}, 180.0),
        ({"n_parallel": 4}, 720.0),
        ({"n_ctx": 2048, "cache_type_k": "q8_0", "cache_type_v": "q4_0"}, 18.28),
        ({"n_ctx": 2048, "cache_type_k": "bf16", "cache_type_v": "f32"}, 67.5),
    ],
)
def test_the_cache_takes_as_much_as_the_engine_says(model: ModelRef, settings: dict[str, object], mib: float) -> None:
    assert kv_cache_bytes(LlamaCppConfig.model_validate(settings), model) / MIB == pytest.approx(mib, abs=0.005)


@given(n_ctx=st.integers(1, 200_000), n_parallel=st.integers(1, 256))
def test_shares_never_exceed_what_is_allocated(n_ctx: int, n_parallel: int) -> None:
    model = ModelRef.model_construct(context_tokens=8192)
    config = LlamaCppConfig(n_ctx=n_ctx, n_parallel=n_parallel)
    share = slot_tokens(config, model)
    assert 0 < share <= model.context_tokens
    assert share * n_parallel <= allocated_tokens(config, model)
