"""The settings of `transformers serve` under its own names, with its own defaults; None is left to the program.

Left out: `model_timeout`, which it ignores for the one model that it is started with, and what concerns the address,
the log and code inside the weights. `OURS` lists what the engine never sees.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from adapters.protocol import PRECISIONS, EngineConfig, ModelRef

Attention = Literal["eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention"]

OURS = frozenset({"tp", "pp", "min_context_tokens"})
MIN_BLOCK_TOKENS = 4


class TransformersConfig(EngineConfig):
    """Everything of `transformers serve` that is worth searching, fixing or recording."""

    min_context_tokens: int = Field(
        default=256, ge=1, description="ours: the longest request, prompt and output, that the KV cache must carry"
    )

    continuous_batching: bool = Field(default=False, description="requests share steps and a paged KV cache")
    attn_implementation: Attention | None = Field(default=None, description="None: the model's own, mostly sdpa")
    compile: bool = Field(default=False, description="a static KV cache, and on CUDA torch.compile")
    quantization: Literal["bnb-4bit", "bnb-8bit"] | None = Field(default=None, description="at load, by bitsandbytes")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        default="auto", description="auto: the weights' own"
    )
    device: str = Field(default="auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto: all that there are")
    reasoning: Literal["on", "off", "auto"] = Field(default="auto", description="auto: the chat template's own default")
    default_seed: int | None = Field(default=None, description="seed of requests that carry none")

    cb_block_size: int | None = Field(
        default=None, ge=MIN_BLOCK_TOKENS, description="tokens of a KV block; None: 256 in version 5.24"
    )
    cb_num_blocks: int | None = Field(default=None, ge=1, description="KV blocks; None: what fits the memory share")
    cb_max_batch_tokens: int | None = Field(
        default=None, ge=1, description="most tokens of one step; None: 8192 in version 5.24"
    )
    cb_max_memory_percent: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="share, 0 to 1, of the memory left for cache and batch; None: 0.6 on a CPU, 0.9 on a GPU",
    )
    cb_use_cuda_graph: bool | None = Field(default=None, description="None: where no attention mask is needed")

    def conditions(self, model: ModelRef) -> dict[str, str]:
        """Say in which precision it computes and caches, and how long a request may be."""
        computes = model.weights_precision if self.dtype == "auto" else PRECISIONS[self.dtype]
        return {
            "compute_precision": computes,
            "kv_precision": computes,
            "context_tokens": str(model.context_tokens),
        }

    def flags(self) -> Iterator[str]:
        """Yield every setting that has a value as flags, spelled out so that the engine's defaults cannot drift."""
        for name, value in self.model_dump(exclude=set(OURS), exclude_none=True).items():
            flag = name.replace("_", "-")
            if isinstance(value, bool):
                yield f"--{flag}" if value else f"--no-{flag}"
            else:
                yield f"--{flag}={value}"
