"""Weights too small to speak, written by the packages that everybody uses and not by our own code."""

import json
from pathlib import Path

import gguf
import numpy as np
import torch
from safetensors.torch import save_file

LAYERS, HIDDEN, HEADS, KV_HEADS, VOCABULARY, CONTEXT = 2, 64, 4, 2, 96, 128

Tensors = dict[str, np.ndarray]  # float32 by Hugging Face name
PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write_tiny_gguf(path: Path, *, seed: int = 0) -> Path:
    """Write a Q4_1 GGUF of a llama too small to speak, with every kind of metadata that real ones have."""
    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_add_bos_token(False)
    writer.add_token_list([f"token{number}" for number in range(VOCABULARY)])
    writer.add_token_types([1] * VOCABULARY)
    writer.add_chat_template("{{ messages }}")
    for name, shape in (("token_embd", (VOCABULARY, HIDDEN)), ("blk.0.attn_q", (HIDDEN, HIDDEN))):
        values = gguf.quantize(rng.normal(size=shape).astype(np.float32), gguf.GGMLQuantizationType.Q4_1)
        writer.add_tensor(f"{name}.weight", values, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
    writer.add_tensor("output_norm.weight", rng.normal(size=HIDDEN).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def draw_llama() -> Tensors:
    """Every tensor of a whole llama with tied embeddings, its values exact in BF16."""
    rng = np.random.default_rng(5)
    kv = HIDDEN // HEADS * KV_HEADS
    shapes = {"k_proj": (kv, HIDDEN), "v_proj": (kv, HIDDEN), "gate_proj": (96, HIDDEN), "up_proj": (96, HIDDEN)}
    shapes |= {"down_proj": (HIDDEN, 96), "q_proj": (HIDDEN, HIDDEN), "o_proj": (HIDDEN, HIDDEN)}
    tensors = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN), "model.norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        for part in PARTS.values():
            tensors[f"model.layers.{layer}.{part}.weight"] = shapes.get(part.split(".")[-1], (HIDDEN,))
    return {name: exact(rng.normal(size=shape)) for name, shape in tensors.items()}


def exact(values: np.ndarray) -> np.ndarray:
    """Drop what BF16 does not hold."""
    return (values.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


def write_folder(folder: Path, tensors: Tensors, *, dtype: str = "BF16", files: int = 1, **config: object) -> Path:
    """Write a Hugging Face folder with the `safetensors` package, apart from our own writer."""
    folder.mkdir()
    kinds = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
    stored = {name: torch.from_numpy(values.copy()).to(kinds[dtype]) for name, values in tensors.items()}
    for number in range(files):
        part = dict(list(stored.items())[number::files])
        save_file(part, folder / f"model-{number}.safetensors", metadata={"format": "pt"})
    facts: dict[str, object] = {
        "model_type": "llama",
        "max_position_embeddings": CONTEXT,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "hidden_size": HIDDEN,
        "vocab_size": VOCABULARY,
        "tie_word_embeddings": True,
        "dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps({**facts, **config}))
    return folder


def permuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """Reorder rows as conversion to GGUF does, spelt out: half 0, half 1 of a head become neighbours."""
    size = len(rows) // heads
    order = [
        head * size + half * (size // 2) + pair for head in range(heads) for pair in range(size // 2) for half in (0, 1)
    ]
    return rows[order]


def write_llama_gguf(
    path: Path, tensors: Tensors, *, kind: str = "BF16", is_permuted: bool = True, architecture: str = "llama"
) -> Path:
    """Write the tensors of a Hugging Face folder as a GGUF, by the `gguf` package; norms in F32."""
    kinds = gguf.GGMLQuantizationType
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(CONTEXT)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    names |= {f"model.layers.{n}.{theirs}": f"blk.{n}.{ours}" for n in range(LAYERS) for ours, theirs in PARTS.items()}
    for name, values in tensors.items():
        stem, suffix = name.rsplit(".", 1)
        heads = {"q_proj": HEADS, "k_proj": KV_HEADS}.get(stem.split(".")[-1])
        rows = permuted(values, heads) if heads and is_permuted else values
        ours = f"{names.get(stem, stem)}.{suffix}"
        if rows.ndim == 1 or kind == "F32":
            writer.add_tensor(ours, rows)
        else:
            writer.add_tensor(ours, gguf.quantize(rows, kinds[kind]), raw_dtype=kinds[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
