"""How many bytes SGLang keeps a cached value in."""

from adapters.sglang.config import SglangConfig

BYTES_PER_VALUE = {"float32": 4, "fp8_e4m3": 1, "fp8_e5m2": 1}


def value_bytes(config: SglangConfig) -> int:
    """Return the bytes of one key or value in the cache."""
    kind = config.kv_cache_dtype if config.kv_cache_dtype != "auto" else config.dtype
    return BYTES_PER_VALUE.get(kind, 2)
