from pathlib import Path

import gguf
import numpy as np
import pytest

LAYERS, HIDDEN, HEADS, KV_HEADS, VOCABULARY, CONTEXT = 2, 64, 4, 2, 96, 128


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


@pytest.fixture
def tiny_gguf(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "tiny.gguf")
