"""How MII's KV cache is cut into blocks, and what it costs a device. Arithmetic only."""

from adapters.mii.config import MiiConfig
from adapters.protocol import ModelRef
from adapters.sharding import weights_bytes

BYTES_PER_VALUE = 2  # keys and values are kept in the model's own precision, FP16 or BF16
SMALL_HEAD, SMALL_HEAD_BLOCK = 64, 128  # deepspeed/inference/v2/kernels/ragged_ops/blocked_flash: get_kv_block_size
BLOCK = 64


def block_tokens(model: ModelRef) -> int:
    """Return the tokens of one KV block: the engine's own choice by head size.

    Heads of 160 have blocks of 32 on some devices (compute capability x.0); here they count as 64.
    """
    return SMALL_HEAD_BLOCK if model.hidden_size // model.num_heads <= SMALL_HEAD else BLOCK


def block_bytes(config: MiiConfig, model: ModelRef) -> int:
    """Return what one block takes on one device: tokens * layers * (keys + values) of the device's KV heads."""
    heads = max(1, model.num_kv_heads // config.tp)
    head_size = model.hidden_size // model.num_heads
    return block_tokens(model) * model.num_layers * 2 * heads * head_size * BYTES_PER_VALUE


def device_bytes(config: MiiConfig, model: ModelRef) -> int:
    """Return the least that a device must hold: its share of the weights, and the KV cache or the reservation."""
    blocks, free_bytes = (
        (config.memory_config_size, 0) if config.memory_config_mode == "allocate" else (1, config.memory_config_size)
    )
    return weights_bytes(model) // config.tp + blocks * block_bytes(config, model) + free_bytes
