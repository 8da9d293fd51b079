"""SGLang's settings under the engine's own names, with its own defaults; None leaves the value to the engine.

Names and defaults are those of `sglang serve` 0.5.23. Every switch is off by default there, so each is a bare flag.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from adapters.protocol import EngineConfig

PARALLEL_FLAGS = {"tp": "tp_size", "pp": "pp_size"}
AttentionBackend = Literal["triton", "torch_native", "flex_attention", "fa3", "fa4", "flashinfer", "trtllm_mha"]
GraphBackend = Literal["full", "breakable", "disabled"]
Policy = Literal["lpm", "random", "fcfs", "dfs-weight", "lof", "hrrn", "shortest-prefill-first"]
Quantization = Literal[
    "awq",
    "awq_marlin",
    "gptq",
    "gptq_marlin",
    "fp8",
    "mxfp8",
    "w8a8_int8",
    "w8a8_fp8",
    "modelopt_fp8",
    "modelopt_fp4",
    "bitsandbytes",
    "compressed-tensors",
]


class SglangConfig(EngineConfig):
    """Everything of SGLang's server that is worth searching, fixing or recording."""

    dtype: Literal["auto", "float16", "bfloat16", "float32"] = "auto"
    quantization: Quantization | None = Field(default=None, description="how weights are quantised; None: as they are")
    kv_cache_dtype: Literal["auto", "bf16", "fp8_e4m3", "fp8_e5m2"] = "auto"
    context_length: int | None = Field(default=None, ge=1, description="longest request in tokens; None: the model's")
    load_format: Literal["auto", "safetensors", "dummy"] = "auto"

    mem_fraction_static: float | None = Field(
        default=None, gt=0, lt=1, description="share of a GPU's memory for weights and KV cache"
    )
    max_running_requests: int | None = Field(default=None, ge=1, description="requests that run at one time")
    max_queued_requests: int | None = Field(default=None, ge=1, description="requests that may wait; more are refused")
    max_total_tokens: int | None = Field(default=None, ge=1, description="tokens in the KV cache")
    chunked_prefill_size: int | None = Field(default=None, ge=-1, description="tokens of a prompt's chunk; -1: whole")
    max_prefill_tokens: int = Field(default=16384, ge=1, description="tokens of one prefill batch")
    prefill_max_requests: int | None = Field(default=None, ge=1, description="requests of one prefill batch")
    enable_mixed_chunk: bool = Field(default=False, description="prefill and decode in one batch")
    schedule_policy: Policy = "fcfs"
    schedule_conservativeness: float = Field(default=1.0, ge=0, description="how much output is reserved for")
    num_continuous_decode_steps: int = Field(default=1, ge=1, description="decode steps between scheduling")
    disable_overlap_schedule: bool = Field(default=False, description="scheduler and GPU take turns")
    stream_interval: int = Field(default=1, ge=1, description="tokens gathered before they are sent")

    page_size: int | None = Field(default=None, ge=1, description="tokens of one KV page")
    disable_radix_cache: bool = Field(default=False, description="no prefix cache")
    radix_eviction_policy: Literal["lru", "lfu", "slru"] = "lru"
    enable_hierarchical_cache: bool = Field(default=False, description="host memory behind the prefix cache")
    hicache_ratio: float | None = Field(default=None, gt=0, description="host cache over device cache")
    hicache_write_policy: Literal["write_back", "write_through", "write_through_selective"] = "write_through"

    attention_backend: AttentionBackend | None = None
    prefill_attention_backend: AttentionBackend | None = None
    decode_attention_backend: AttentionBackend | None = None
    cuda_graph_backend_decode: GraphBackend | None = None
    cuda_graph_backend_prefill: GraphBackend | None = None
    cuda_graph_max_bs_decode: int | None = Field(default=None, ge=1, description="largest batch with a CUDA graph")
    disable_cuda_graph_padding: bool = Field(default=False, description="graphs for exact batch sizes only")
    enable_torch_compile: bool = False
    torch_compile_max_bs: int = Field(default=32, ge=1, description="largest batch that is compiled")

    speculative_algorithm: Literal["NGRAM", "EAGLE", "EAGLE3", "STANDALONE"] | None = None
    speculative_draft_model_path: str | None = Field(default=None, min_length=1)
    speculative_num_steps: int | None = Field(default=None, ge=1, description="draft steps")
    speculative_eagle_topk: int | None = Field(default=None, ge=1, description="branches of a draft step")
    speculative_num_draft_tokens: int | None = Field(default=None, ge=1, description="tokens verified at one time")
    speculative_ngram_max_bfs_breadth: int = Field(default=10, ge=1, description="branches of an n-gram draft")
    speculative_ngram_max_trie_depth: int = Field(default=18, ge=1, description="tokens matched by an n-gram draft")

    def changed(self) -> Iterator[tuple[str, object]]:
        """Yield every setting that is not at its default, under the name that SGLang gives it."""
        for name, value in self.model_dump(exclude_defaults=True).items():
            yield PARALLEL_FLAGS.get(name, name), value
