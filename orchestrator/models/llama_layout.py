"""How the llama architecture's tensors are named and ordered in a GGUF and in a Hugging Face folder.

Conversion to GGUF renames them and reorders the rows of the q and k projections, head by head, from two halves to
interleaved pairs, since llama.cpp rotates neighbours (`LlamaModel.permute` of llama.cpp's converter).
"""

from typing import Any

from numpy.typing import NDArray

EMBEDDING, NORM, HEAD = "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"
OUTSIDE = {"token_embd.weight": EMBEDDING, "output_norm.weight": NORM, "output.weight": HEAD}
Q, K = "self_attn.q_proj", "self_attn.k_proj"
NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
PROJECTIONS = {
    "attn_q": Q, "attn_k": K, "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
COMPUTED = ("rope_freqs.weight", "self_attn.rotary_emb.inv_freq")  # both follow from the configuration


def names_of_layers(num_layers: int) -> dict[str, str]:
    """Return the Hugging Face name of every layer's weight by its name in a GGUF."""
    parts = {**NORMS, **PROJECTIONS}
    return {
        f"blk.{layer}.{ours}.weight": f"model.layers.{layer}.{theirs}.weight"
        for layer in range(num_layers)
        for ours, theirs in parts.items()
    }


def names_of_biases(num_layers: int) -> dict[str, str]:
    """Return the same of the biases that a projection may have."""
    return {
        f"blk.{layer}.{ours}.bias": f"model.layers.{layer}.{theirs}.bias"
        for layer in range(num_layers)
        for ours, theirs in PROJECTIONS.items()
    }


def permuted_heads(name: str, *, num_heads: int, num_kv_heads: int) -> int | None:
    """Return in how many heads a tensor's rows are reordered, by its Hugging Face name; None where they are not."""
    part = name.removesuffix(".weight").removesuffix(".bias")
    if part.endswith(Q):
        return num_heads
    return num_kv_heads if part.endswith(K) else None


def in_hf_order(rows: NDArray[Any], heads: int) -> NDArray[Any]:
    """Reorder rows of a GGUF from interleaved pairs to halves.

    Raises:
        ValueError: the rows do not divide by twice the heads.
    """
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def in_gguf_order(rows: NDArray[Any], heads: int) -> NDArray[Any]:
    """Reorder rows of a Hugging Face folder from halves to interleaved pairs, as `in_hf_order` undoes it."""
    return rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
