"""What TensorRT-LLM needs on each GPU before it can serve one request. Arithmetic only.

The weights come first; of what they leave free, the KV cache takes its share. Activations, CUDA graphs and a draft
model come on top.
"""

from adapters.protocol import ModelRef
from adapters.trtllm.config import TrtllmConfig

BYTES_PER_VALUE = {"float32": 4, "fp8": 1}


def weights_bytes(model: ModelRef) -> int:
    """Return the size of the checkpoint, 0 where it is not on this disk: the estimate is then of the KV alone."""
    return sum(one.stat().st_size for one in model.path.glob("*.safetensors")) if model.path.is_dir() else 0


def request_bytes(config: TrtllmConfig, model: ModelRef) -> int:
    """Return what one longest request takes on one GPU, in whole blocks of its stage's layers and its rank's KV heads.

    A rank holds at least one KV head: where there are fewer than ranks, they are repeated.
    """
    kind = config.kv_cache_config_dtype if config.kv_cache_config_dtype != "auto" else config.dtype
    block = config.kv_cache_config_tokens_per_block
    tokens = -(-(config.max_seq_len or model.context_tokens) // block) * block
    layers = -(-model.num_layers // config.pp)
    kv_heads = max(1, model.num_kv_heads // config.tp)
    return 2 * tokens * layers * kv_heads * (model.hidden_size // model.num_heads) * BYTES_PER_VALUE.get(kind, 2)
