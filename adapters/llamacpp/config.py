"""llama.cpp's settings under the engine's own names, with the engine's own defaults.

Names are those of `xllamacpp.CommonParams`; a nested one (`speculative.types`) is spelled with an underscore.
`OURS` lists what the engine never sees.
"""

from typing import Any, Literal

from pydantic import Field

from adapters.llamacpp.context import slot_tokens
from adapters.protocol import EngineConfig, ModelRef

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]
SpeculationType = Literal["none", "ngram_simple", "ngram_map_k", "ngram_map_k4v", "ngram_mod", "ngram_cache"]

OURS = frozenset({"tp", "pp", "min_context_tokens"})
MAX_SLOTS = 256  # LLAMA_MAX_SEQ


class LlamaCppConfig(EngineConfig):
    """Everything of llama.cpp's server that is worth searching, fixing or recording."""

    min_context_tokens: int = Field(
        default=256, ge=1, description="ours: the longest request, prompt and output, that each slot must carry"
    )

    n_ctx: int = Field(default=0, ge=0, description="context in tokens, shared out over slots; 0: the model's, each")
    n_parallel: int = Field(default=1, ge=1, le=MAX_SLOTS, description="slots: requests that run at one time")
    kv_unified: bool = Field(default=False, description="one KV buffer for all slots instead of one share each")
    cont_batching: bool = Field(default=True, description="continuous batching")
    n_batch: int = Field(default=2048, ge=1, description="logical batch, tokens of one decode call")
    n_ubatch: int = Field(default=512, ge=1, description="physical batch, tokens computed at one time")

    cache_prompt: bool = Field(default=True, description="keep a slot's KV for the next prompt with the same prefix")
    cache_ram_mib: int = Field(default=8192, ge=-1, description="host memory for prompts of idle slots; -1: no bound")
    cache_idle_slots: bool = Field(default=True, description="save idle slots to that memory when a new request comes")
    n_cache_reuse: int = Field(default=0, ge=0, description="smallest chunk, tokens, reused by KV shifting; 0: off")
    slot_prompt_similarity: float = Field(default=0.1, ge=0, le=1, description="prefix share that ties to a slot")
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"

    flash_attn_type: Literal["auto", "enabled", "disabled"] = "auto"
    n_threads: int = Field(default=-1, ge=-1, description="threads of decoding; -1: as many as it may run on")
    n_threads_batch: int = Field(default=-1, ge=-1, description="threads of prefill; -1: as n_threads")
    poll: int = Field(default=50, ge=0, le=100, description="how hard idle threads spin, 0 sleeps")
    n_gpu_layers: int = Field(default=-1, ge=-1, description="layers on the device; -1: all that fit")
    load_mode: Literal["auto", "none", "mmap", "mlock", "mmap_mlock", "direct_io"] = "auto"
    no_extra_bufts: bool = Field(default=False, description="switch off repacking of weights for the CPU")
    warmup: bool = Field(default=True, description="an empty run before the server is ready")
    fit_params: bool = Field(default=True, description="let the engine shrink what was left unset to fit memory")

    speculative_types: SpeculationType = Field(default="none", description="speculation from the text so far")
    speculative_ngram_simple_size_n: int = Field(default=12, ge=1, description="tokens looked up")
    speculative_ngram_simple_size_m: int = Field(default=48, ge=1, description="tokens drafted")
    speculative_ngram_mod_n_match: int = Field(default=24, ge=1, description="tokens looked up")
    speculative_ngram_mod_n_min: int = Field(default=48, ge=1, description="fewest tokens drafted")
    speculative_ngram_mod_n_max: int = Field(default=64, ge=1, description="most tokens drafted")

    def conditions(self, model: ModelRef) -> dict[str, str]:
        """Say in which precision it computes and caches, and how long a request may be.

        Products are taken in the precision of the weights.
        """
        keys, values = self.cache_type_k, self.cache_type_v
        return {
            "compute_precision": model.weights_precision,
            "kv_precision": keys if keys == values else f"{keys} keys, {values} values",
            "context_tokens": str(slot_tokens(self, model)),
        }

    def engine_settings(self) -> dict[str, Any]:
        """Return what the engine is given: every setting, spelled out, so that its own defaults cannot drift."""
        return self.model_dump(mode="json", exclude=set(OURS))
