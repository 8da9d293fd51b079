"""TensorRT-LLM's settings under the engine's own names, with its own defaults; None leaves the value to the engine.

A name is a flag of `trtllm-serve`, or a key of its options file (`LlmArgs`) with the parts of a nested key joined by
underscores: `kv_cache_config_dtype` is `kv_cache_config: {dtype: ...}`. Defaults are those of the sources of 1.2.
"""

from typing import Any, Literal

from pydantic import Field

from adapters.protocol import EngineConfig

FLAGS = {
    "tp": "tp_size",
    "pp": "pp_size",
    "backend": "backend",
    "max_batch_size": "max_batch_size",
    "max_num_tokens": "max_num_tokens",
    "max_seq_len": "max_seq_len",
    "num_postprocess_workers": "num_postprocess_workers",
    "enable_chunked_prefill": "enable_chunked_prefill",
}
"""Settings that are flags of the command; all others go through the options file."""

GROUPS = ("kv_cache_config", "scheduler_config", "cuda_graph_config", "speculative_config")
PYTORCH_ONLY = (
    "attn_backend",
    "disable_overlap_scheduler",
    "use_cuda_graph",
    "cuda_graph_config_enable_padding",
    "cuda_graph_config_max_batch_size",
    "stream_interval",
    "enable_autotuner",
    "batch_wait_timeout_ms",
    "kv_cache_config_dtype",
    "speculative_config_decoding_type",
)
CapacityPolicy = Literal["GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"]
ChunkingPolicy = Literal["FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"]


class TrtllmConfig(EngineConfig):
    """Everything of `trtllm-serve` that is worth searching, fixing or recording."""

    backend: Literal["pytorch", "tensorrt"] = "pytorch"
    max_batch_size: int = Field(default=2048, ge=1, description="requests that run at one time")
    max_num_tokens: int = Field(default=8192, ge=1, description="tokens of one step")
    max_seq_len: int | None = Field(default=None, ge=1, description="longest request in tokens; None: the model's")
    num_postprocess_workers: int = Field(default=0, ge=0, description="processes that turn tokens into answers")
    enable_chunked_prefill: bool = Field(default=False, description="prompts cut to fit beside decodes")

    dtype: Literal["auto", "float16", "bfloat16", "float32"] = "auto"
    kv_cache_free_gpu_memory_fraction: float = Field(
        default=0.9, gt=0, le=1, description="share for the KV cache of what the weights leave free"
    )
    kv_cache_config_enable_block_reuse: bool = Field(default=True, description="prefix cache")
    kv_cache_config_enable_partial_reuse: bool = Field(default=True, description="reuse of half-matched blocks")
    kv_cache_config_dtype: Literal["auto", "fp8"] = "auto"
    kv_cache_config_tokens_per_block: Literal[8, 16, 32, 64, 128] = 32
    kv_cache_config_max_tokens: int | None = Field(default=None, ge=1, description="tokens in the KV cache")
    kv_cache_config_host_cache_size: int | None = Field(
        default=None, ge=1, description="bytes of host memory behind it"
    )
    scheduler_config_capacity_scheduler_policy: CapacityPolicy = "GUARANTEED_NO_EVICT"
    scheduler_config_context_chunking_policy: ChunkingPolicy | None = None

    attn_backend: Literal["TRTLLM", "FLASHINFER", "VANILLA"] = "TRTLLM"
    disable_overlap_scheduler: bool = Field(default=False, description="scheduler and GPU take turns")
    use_cuda_graph: bool = Field(default=True, description="ours: false writes `cuda_graph_config: null`")
    cuda_graph_config_enable_padding: bool = Field(default=False, description="batches rounded up to a graph's size")
    cuda_graph_config_max_batch_size: int = Field(default=0, ge=0, description="largest with a graph; 0: the engine's")
    stream_interval: int = Field(default=1, ge=1, description="steps gathered before tokens are sent")
    enable_autotuner: bool = Field(default=True, description="kernels tuned while it starts")
    batch_wait_timeout_ms: float = Field(default=0, ge=0, description="wait for a fuller batch")

    speculative_config_decoding_type: Literal["NGram", "Eagle", "Draft_Target"] | None = None
    speculative_config_max_draft_len: int | None = Field(default=None, ge=1, description="tokens drafted")
    speculative_config_max_matching_ngram_size: int = Field(default=0, ge=0, description="tokens matched")
    speculative_config_speculative_model_dir: str | None = Field(default=None, min_length=1)
    speculative_config_max_concurrency: int | None = Field(default=None, ge=1, description="speculation stops beyond")

    def changed(self) -> dict[str, Any]:
        """Return every setting that is not at its default, under our name."""
        return self.model_dump(exclude_defaults=True)
