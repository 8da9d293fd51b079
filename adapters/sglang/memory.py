"""What SGLang needs on each GPU before it can serve one request: a share of the weights and of its KV. Arithmetic only.

Activations, CUDA graphs and a draft model come on top.
"""

from adapters.protocol import ModelRef
from adapters.sglang.config import SglangConfig

BYTES_PER_VALUE = {"float32": 4, "fp8_e4m3": 1, "fp8_e5m2": 1}


def weights_bytes(model: ModelRef) -> int:
    """Return the size of the checkpoint, 0 where it is not on this disk: the estimate is then of the KV alone."""
    return sum(one.stat().st_size for one in model.path.glob("*.safetensors")) if model.path.is_dir() else 0


def kv_bytes_per_token(config: SglangConfig, model: ModelRef) -> int:
    """Return what one token takes on one GPU: keys and values of its stage's layers and its rank's KV heads.

    A rank holds at least one KV head: where there are fewer than ranks, they are repeated.
    """
    kind = config.kv_cache_dtype if config.kv_cache_dtype != "auto" else config.dtype
    layers = -(-model.num_layers // config.pp)
    kv_heads = max(1, model.num_kv_heads // config.tp)
    head_size = model.hidden_size // model.num_heads
    return 2 * layers * kv_heads * head_size * BYTES_PER_VALUE.get(kind, 2)
