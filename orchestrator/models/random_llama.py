"""A llama with random weights, for tests that need a shape and no sense: tensor parallelism, formats, loading.

Values are drawn from a seed by numpy alone and stored in BF16, so that a seed always gives equal files; every file
that can carry a label says that the weights are random.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator.models.conversion import copy_metadata
from orchestrator.models.extra import require, versions
from orchestrator.models.llama_layout import (
    EMBEDDING,
    HEAD,
    NORM,
    OUTSIDE,
    in_gguf_order,
    names_of_layers,
    permuted_heads,
)
from orchestrator.models.safetensors_file import write_safetensors
from orchestrator.models.tensors import bf16_bits, float32_of

EPSILON, ROTARY_BASE = 1e-5, 10_000.0
BOS, EOS = 1, 2  # of the tokenizer of SmolLM2
NORM_SPREAD, HEAD_SPREAD = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class RandomLlama:
    """A shape and a seed: everything that its values follow from."""

    name: str
    seed: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_size: int
    intermediate_size: int
    vocab_size: int
    context_tokens: int

    @property
    def hidden_size(self) -> int:
        """Return the width of the residual stream, which the heads share out."""
        return self.num_heads * self.head_size

    @property
    def label(self) -> str:
        """Say what the weights are, and that they were never trained."""
        return f"RANDOM weights drawn from the seed {self.seed}, never trained: what it writes means nothing"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return every tensor's shape by Hugging Face name, in the order of drawing."""
        hidden, kv = self.hidden_size, self.num_kv_heads * self.head_size
        ends = {"q_proj": (hidden, hidden), "k_proj": (kv, hidden), "v_proj": (kv, hidden), "o_proj": (hidden, hidden)}
        ends |= {"gate_proj": (self.intermediate_size, hidden), "up_proj": (self.intermediate_size, hidden)}
        ends |= {"down_proj": (hidden, self.intermediate_size)}
        layers = sorted(names_of_layers(self.num_layers).values())
        shapes: dict[str, tuple[int, ...]] = {name: ends.get(name.split(".")[-2], (hidden,)) for name in layers}
        return {EMBEDDING: (self.vocab_size, hidden), **shapes, NORM: (hidden,), HEAD: (self.vocab_size, hidden)}

    def draw(self) -> dict[str, NDArray[np.uint16]]:
        """Draw every tensor as bits of BF16, scaled so that activations keep their size from layer to layer."""
        rng = np.random.Generator(np.random.PCG64(self.seed))
        return {name: bf16_bits(_values(rng, name, shape)).bits for name, shape in self.shapes().items()}


def write_random_folder(target: Path, shape: RandomLlama) -> None:
    """Write a Hugging Face folder without a tokenizer."""
    target.mkdir()
    write_safetensors(target / "model.safetensors", shape.draw())
    _write_json(target / "config.json", _config(shape))
    _write_json(target / "generation_config.json", {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": EOS})
    (target / "README.md").write_text(f"# {shape.name}\n\n{shape.label}.\n", encoding="utf-8")


def write_random_gguf(target: Path, shape: RandomLlama, *, tokenizer: Path) -> str:
    """Write the same values as a GGUF with the tokenizer of another; returns how it was made."""
    gguf = require("gguf")
    writer = gguf.GGUFWriter(target, "llama")
    _add_metadata(writer, shape)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    copy_metadata(gguf.GGUFReader(tokenizer), writer, is_kept=lambda key: key.startswith("tokenizer."))
    drawn = shape.draw()
    for ours, theirs in {**OUTSIDE, **names_of_layers(shape.num_layers)}.items():
        heads = permuted_heads(theirs, num_heads=shape.num_heads, num_kv_heads=shape.num_kv_heads)
        bits = drawn[theirs] if heads is None else in_gguf_order(drawn[theirs], heads)
        if bits.ndim == 1:
            writer.add_tensor(ours, float32_of(bits))  # llama.cpp wants norms so
        else:
            rows = np.ascontiguousarray(bits).view(np.uint8)
            writer.add_tensor(ours, rows, raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return f"written as bf16 GGUF by {versions('gguf')}"


def _values(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    drawn = rng.standard_normal(shape, dtype=np.float32)
    if len(shape) == 1:
        return np.float32(1) + np.float32(NORM_SPREAD) * drawn
    if name == EMBEDDING:
        return drawn
    scaled = drawn / np.float32(np.sqrt(shape[1]))
    if name != HEAD:
        return scaled
    # rows of different size keep the best tokens apart: greedy choices should not hang on the rounding of an engine
    sizes: NDArray[np.float32] = np.exp(np.float32(HEAD_SPREAD) * rng.standard_normal((shape[0], 1), dtype=np.float32))
    return scaled * sizes


def _add_metadata(writer: Any, shape: RandomLlama) -> None:  # noqa: ANN401 - gguf has no types
    writer.add_name(f"{shape.name}: {shape.label}")
    writer.add_context_length(shape.context_tokens)
    writer.add_block_count(shape.num_layers)
    writer.add_embedding_length(shape.hidden_size)
    writer.add_feed_forward_length(shape.intermediate_size)
    writer.add_head_count(shape.num_heads)
    writer.add_head_count_kv(shape.num_kv_heads)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_rope_freq_base(ROTARY_BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_vocab_size(shape.vocab_size)


def _config(shape: RandomLlama) -> dict[str, object]:
    return {
        "_name_or_path": f"{shape.name}: {shape.label}",
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": BOS,
        "dtype": "bfloat16",
        "eos_token_id": EOS,
        "head_dim": shape.head_size,
        "hidden_act": "silu",
        "hidden_size": shape.hidden_size,
        "intermediate_size": shape.intermediate_size,
        "max_position_embeddings": shape.context_tokens,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": shape.num_heads,
        "num_hidden_layers": shape.num_layers,
        "num_key_value_heads": shape.num_kv_heads,
        "pad_token_id": EOS,
        "rms_norm_eps": EPSILON,
        "rope_theta": ROTARY_BASE,
        "tie_word_embeddings": False,
        "vocab_size": shape.vocab_size,
    }


def _write_json(path: Path, value: dict[str, object]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
