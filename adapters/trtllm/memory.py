"""What TensorRT-LLM needs on each GPU before it can serve one request. Arithmetic only.

The weights come first; of what they leave free, the KV cache takes its share. Activations, CUDA graphs and a draft
model come on top.
"""

from adapters.protocol import ModelRef
from adapters.sharding import kv_bytes_per_token
from adapters.trtllm.config import TrtllmConfig

BYTES_PER_VALUE = {"float32": 4, "fp8": 1}


def request_bytes(config: TrtllmConfig, model: ModelRef) -> int:
    """Return what one longest request takes on one GPU, in whole blocks."""
    kind = config.kv_cache_config_dtype if config.kv_cache_config_dtype != "auto" else config.dtype
    block = config.kv_cache_config_tokens_per_block
    tokens = -(-(config.max_seq_len or model.context_tokens) // block) * block
    return tokens * kv_bytes_per_token(config, model, value_bytes=BYTES_PER_VALUE.get(kind, 2))
