"""MII's settings under the engine's own names, with the engine's own defaults.

They are fields of its `ModelConfig` and of DeepSpeed's `RaggedInferenceEngineConfig`; a nested one
(`memory_config.size`) is spelled with an underscore. The size of a KV block is no setting: the engine takes it from
the size of a head. `OURS` lists what the engine never sees.
"""

from typing import Literal

from pydantic import Field

from adapters.protocol import EngineConfig

OURS = frozenset({"pp", "min_context_tokens"})


class MiiConfig(EngineConfig):
    """Everything of MII that is worth searching, fixing or recording; `tp` is its `tensor_parallel`."""

    min_context_tokens: int = Field(
        default=256, ge=1, description="ours: the longest request, prompt and output, that must fit"
    )

    replica_num: int = Field(default=1, ge=1, description="copies of the model, each on `tp` devices, taken in turn")
    max_length: int | None = Field(
        default=None, ge=1, description="tokens of one request where it names no bound itself; None: the model's"
    )
    quantization_mode: Literal["wf6af16"] | None = Field(
        default=None, description="weights to FP6 when they are loaded; None: as they are"
    )
    max_tracked_sequences: int = Field(default=2048, ge=1, description="requests that may hold KV cache at one time")
    max_ragged_batch_size: int = Field(default=768, ge=1, description="most tokens of one forward pass")
    max_ragged_sequence_count: int = Field(default=512, ge=1, description="most requests of one forward pass")
    max_context: int = Field(default=8192, ge=1, description="most tokens of one request, prompt and output")
    memory_config_mode: Literal["reserve", "allocate"] = Field(
        default="reserve", description="whether memory_config_size is what the KV cache leaves free or what it takes"
    )
    memory_config_size: int = Field(
        default=1_000_000_000, ge=1, description="reserve: bytes a device keeps free; allocate: KV blocks"
    )
    profile_model_time: bool = Field(default=False, description="log mean times of every hundred steps")
    sync_debug: bool = Field(default=False, description="wait for the device after every step")
