"""vLLM's settings under the engine's own names, with the engine's own defaults; None leaves it to the engine.

Two settings are environment variables of the CPU build, spelled in small letters here.
"""

import json
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, field_validator

from adapters.protocol import PRECISIONS, EngineConfig, ModelRef

ENV_FIELDS = ("vllm_cpu_kvcache_space", "vllm_cpu_omp_threads_bind")
PARALLEL_FLAGS = {"tp": "tensor_parallel_size", "pp": "pipeline_parallel_size"}
OURS = frozenset({"serve_llm"})
OF_SERVER = frozenset({"lora_modules"})  # flags of its API server, which its engine does not know
LoraRank = Literal[1, 8, 16, 32, 64, 128, 256, 320, 512]
CacheDtype = Literal["auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2"]


class VllmConfig(EngineConfig):
    """Everything of vLLM's server that is worth searching, fixing or recording."""

    serve_llm: bool = Field(default=False, description="ours: deploy through Ray Serve's own LLM replica")

    max_model_len: int | None = Field(default=None, ge=1, description="longest request in tokens; None: the model's")
    max_num_seqs: int | None = Field(default=None, ge=1, description="requests that run at one time")
    max_num_batched_tokens: int | None = Field(default=None, ge=1, description="tokens of one step")
    enable_chunked_prefill: bool | None = Field(default=None, description="prompts cut to fit beside decodes")
    long_prefill_token_threshold: int = Field(default=0, ge=0, description="prompts beyond are long ones; 0: none is")
    scheduling_policy: Literal["fcfs", "priority"] = "fcfs"
    async_scheduling: bool | None = Field(default=None, description="schedule a step while the last one runs")
    stream_interval: int = Field(default=1, ge=1, description="tokens gathered before they are sent")

    block_size: int | None = Field(default=None, ge=1, description="tokens of one KV block")
    enable_prefix_caching: bool | None = None
    kv_cache_dtype: CacheDtype = "auto"
    gpu_memory_utilization: float = Field(default=0.92, gt=0, le=1, description="share of a GPU's memory to take")
    vllm_cpu_kvcache_space: int | None = Field(default=None, ge=1, description="CPU build: GiB of KV cache")
    vllm_cpu_omp_threads_bind: str | None = Field(
        default=None,
        pattern=r"^\d+(-\d+)?([,|]\d+(-\d+)?)*$",
        description="CPU build: cores of each rank, such as 0-3|4-7; None: the engine's own choice",
    )

    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    quantization: str | None = Field(default=None, description="how weights are quantised; None: as they are")
    load_format: str = Field(default="auto", description="`dummy` makes random weights of the model's shape")
    enforce_eager: bool = Field(default=False, description="no compilation and no CUDA graphs")
    optimization_level: int = Field(default=2, ge=0, le=3, description="how much is compiled")
    speculative_config: str | None = Field(default=None, description="a JSON object, as vLLM takes it")

    enable_lora: bool = Field(default=False, description="room for LoRA adapters; no compilation on a CPU")
    max_loras: int = Field(default=1, ge=1, description="adapters that run in one batch; others wait")
    max_lora_rank: LoraRank = Field(default=16, description="largest rank of an adapter")
    lora_modules: str | None = Field(
        default=None,
        pattern=r"^[^=,]+=[^,]+(,[^=,]+=[^,]+)*$",
        description="adapters by name and folder, such as sql=adapters/sql,chat=adapters/chat",
    )

    @field_validator("speculative_config")
    @classmethod
    def _is_json_object(cls, value: str | None) -> str | None:
        if value is not None and not isinstance(json.loads(value), dict):
            raise ValueError('expected a JSON object, such as {"method": "ngram", "num_speculative_tokens": 4}')
        return value

    @property
    def loras(self) -> tuple[tuple[str, str], ...]:
        """Return the name and the folder of each LoRA adapter."""
        pairs = self.lora_modules.split(",") if self.lora_modules is not None else []
        return tuple((name, path) for name, _, path in (one.partition("=") for one in pairs))

    def conditions(self, model: ModelRef) -> dict[str, str]:
        """Say in which precision it computes and caches, and how long a request may be."""
        computes = model.weights_precision if self.dtype == "auto" else PRECISIONS[self.dtype]
        caches = computes if self.kv_cache_dtype == "auto" else PRECISIONS.get(self.kv_cache_dtype, self.kv_cache_dtype)
        context = str(self.max_model_len or model.context_tokens)
        return {"compute_precision": computes, "kv_precision": caches, "context_tokens": context}

    def changed(self) -> Iterator[tuple[str, object]]:
        """Yield every engine flag that is not at its default, under the name that vLLM gives it."""
        for name, value in self.model_dump(exclude_defaults=True, exclude={*OURS, *OF_SERVER, *ENV_FIELDS}).items():
            yield PARALLEL_FLAGS.get(name, name), value

    def environ(self) -> dict[str, str]:
        """Return the settings that the CPU build reads from its environment."""
        values = {name.upper(): getattr(self, name) for name in ENV_FIELDS}
        return {name: str(value) for name, value in values.items() if value is not None}
