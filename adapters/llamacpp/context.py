"""How llama.cpp shares its context out over slots, and what that costs in memory. Arithmetic only."""

from typing import TYPE_CHECKING

from adapters.protocol import ModelRef

if TYPE_CHECKING:
    from adapters.llamacpp.config import LlamaCppConfig  # which asks here what its settings come to

PAD_TOKENS = 256  # the engine rounds a sequence's context up to this
BLOCK = 32  # values of one head that share a scale in every quantised cache type
BYTES_PER_VALUE = {
    "f32": 4.0,
    "f16": 2.0,
    "bf16": 2.0,
    "q8_0": 34 / BLOCK,
    "q5_1": 24 / BLOCK,
    "q5_0": 22 / BLOCK,
    "q4_1": 20 / BLOCK,
    "q4_0": 18 / BLOCK,
    "iq4_nl": 18 / BLOCK,
}
UNQUANTISED = frozenset({"f32", "f16", "bf16"})


def _padded(tokens: int) -> int:
    return -(-tokens // PAD_TOKENS) * PAD_TOKENS


def allocated_tokens(config: "LlamaCppConfig", model: ModelRef) -> int:
    """Return how many tokens the KV cache holds over all slots, as the engine rounds them."""
    if config.kv_unified:
        return _padded(config.n_ctx or model.context_tokens)
    if config.n_ctx == 0:
        return _padded(model.context_tokens) * config.n_parallel
    return _padded(_padded(config.n_ctx) // config.n_parallel) * config.n_parallel


def slot_tokens(config: "LlamaCppConfig", model: ModelRef) -> int:
    """Return how many tokens, prompt and output, one request may have; never more than the model was trained for.

    With a unified cache any slot may take all of it, at the others' expense.
    """
    tokens = allocated_tokens(config, model)
    return min(tokens if config.kv_unified else tokens // config.n_parallel, model.context_tokens)


def kv_cache_bytes(config: "LlamaCppConfig", model: ModelRef) -> int:
    """Return the size of the KV cache: tokens * layers * (keys + values of all KV heads)."""
    head_size = model.hidden_size // model.num_heads
    values = allocated_tokens(config, model) * model.num_layers * model.num_kv_heads * head_size
    return round(values * (BYTES_PER_VALUE[config.cache_type_k] + BYTES_PER_VALUE[config.cache_type_v]))
