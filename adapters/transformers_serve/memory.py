"""What continuous batching takes in memory, by the engine's own arithmetic (version 5.24). Arithmetic only.

The engine fixes the tokens of a step, pays for all that grows with them, and turns the rest of its memory share into
KV blocks; where that leaves no block, its worker dies at the first request. Left out: what the program takes beside
its weights, and sliding windows. On CUDA flash attention is assumed, which needs no mask: the least that it can take.
"""

from math import ceil
from typing import NamedTuple

from adapters.protocol import Hardware, ModelRef
from adapters.transformers_serve.config import TransformersConfig

BLOCK_TOKENS = 256
BATCH_TOKENS = 8192
CPU_SHARE, GPU_SHARE = 0.6, 0.9
SPARE_BLOCKS = 2  # that padding is written to
MAX_REQUESTS = 1024  # rows of logits that it reserves
INPUT_BYTES, INDEX_BYTES = 48, 8  # of a token of the batch, of a token of the cache
VALUE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "f32": 4, "fp32": 4}
LOGIT_BYTES = 4


class CachePlan(NamedTuple):
    """The KV cache that a configuration leads to; `need_bytes` may exceed `have_bytes`, and `blocks` be below one."""

    block_tokens: int
    blocks: int
    need_bytes: int
    have_bytes: int

    @property
    def tokens(self) -> int:
        """Return how many tokens it holds."""
        return self.block_tokens * self.blocks


class _Costs(NamedTuple):
    """Bytes by what they grow with; `mask` is one element of the attention mask."""

    fixed: int
    batch_token: int
    cache_token: int
    block: int
    mask: int

    def total(self, batch_tokens: int, blocks: int, block_tokens: int) -> int:
        masks = self.mask * batch_tokens * (blocks * block_tokens + batch_tokens)
        per_block = self.block + block_tokens * self.cache_token
        return self.fixed + batch_tokens * self.batch_token + blocks * per_block + masks

    def fitting_blocks(self, have_bytes: int, batch_tokens: int, block_tokens: int) -> int:
        per_block = self.block + block_tokens * self.cache_token
        blocks = (have_bytes - self.fixed - batch_tokens * self.batch_token) // per_block
        masks = self.mask * batch_tokens * (blocks * block_tokens + batch_tokens)
        return blocks - ceil(masks / (per_block + self.mask * batch_tokens * block_tokens))


def plan_cache(config: TransformersConfig, model: ModelRef, hardware: Hardware) -> CachePlan:
    """Return the cache of continuous batching as the engine will size it on this machine."""
    block_tokens = config.cb_block_size or BLOCK_TOKENS
    batch_tokens = config.cb_max_batch_tokens or BATCH_TOKENS
    costs = _costs(config, model, has_cuda=hardware.has_cuda)
    total = min(hardware.gpu_memory_bytes) if hardware.has_cuda else hardware.memory_bytes
    share = config.cb_max_memory_percent or (GPU_SHARE if hardware.has_cuda else CPU_SHARE)
    have_bytes = int((total - weights_bytes(config, model)) * share)
    blocks = config.cb_num_blocks or costs.fitting_blocks(have_bytes, batch_tokens, block_tokens)
    return CachePlan(block_tokens, blocks, costs.total(batch_tokens, blocks, block_tokens), have_bytes)


def weights_bytes(config: TransformersConfig, model: ModelRef) -> int:
    """Return the size of the weights in memory, 0 where there are none on this disk."""
    files = model.path.glob("*.safetensors") if model.path.is_dir() else ()
    stored = sum(one.stat().st_size for one in files)
    if config.quantization is not None:
        return 0  # not known before it is loaded
    return stored * _value_bytes(config, model) // VALUE_BYTES.get(model.weights_precision, 2)


def _value_bytes(config: TransformersConfig, model: ModelRef) -> int:
    return VALUE_BYTES.get(model.weights_precision if config.dtype == "auto" else config.dtype, 2)


def _costs(config: TransformersConfig, model: ModelRef, *, has_cuda: bool) -> _Costs:
    value, head = _value_bytes(config, model), model.hidden_size // model.num_heads
    block = model.num_layers * (config.cb_block_size or BLOCK_TOKENS) * 2 * model.num_kv_heads * head * value
    heads_read = 2 * model.num_kv_heads if has_cuda else 2 * model.num_heads + model.num_kv_heads
    heads_made = model.num_heads + 2 * model.num_kv_heads
    return _Costs(
        fixed=SPARE_BLOCKS * block + MAX_REQUESTS * (model.hidden_size * value + model.vocab_size * LOGIT_BYTES),
        batch_token=value * (model.hidden_size + (heads_made + heads_read) * head) + INPUT_BYTES,
        cache_token=heads_read * head * value + INDEX_BYTES,
        block=block,
        mask=0 if has_cuda else value,
    )
