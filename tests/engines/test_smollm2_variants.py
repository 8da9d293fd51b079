"""The variants of the real small model: one set of values in several formats, one tokenizer."""

from pathlib import Path
from pydoc_data.topics import topics

import gguf
import numpy as np
import pytest
import torch
from safetensors import safe_open
from tokenizers import Tokenizer

from adapters.protocol import ModelRef
from orchestrator.domain.weights import weights_relation
from orchestrator.models.provenance import provenance_of
from tests.engines.llamacpp_server import RunningLlamaCpp

pytestmark = pytest.mark.engine

HEADS, KV_HEADS = 9, 3
PAIRS = {  # name in the GGUF: (name in the Hugging Face folder, heads whose rows are permuted)
    "token_embd.weight": ("model.embed_tokens.weight", None),
    "blk.0.attn_q.weight": ("model.layers.0.self_attn.q_proj.weight", HEADS),
    "blk.29.attn_k.weight": ("model.layers.29.self_attn.k_proj.weight", KV_HEADS),
    "blk.13.attn_v.weight": ("model.layers.13.self_attn.v_proj.weight", None),
    "blk.7.ffn_down.weight": ("model.layers.7.mlp.down_proj.weight", None),
    "blk.21.attn_norm.weight": ("model.layers.21.input_layernorm.weight", None),
    "output_norm.weight": ("model.norm.weight", None),
}


def unpermuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undo llama.cpp's order of rotary pairs, (head, half, pair) from (head, pair, half)."""
    return rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def gguf_bits(path: Path, names: set[str]) -> dict[str, np.ndarray]:
    """Read tensors as the upper halves of float32: the bits of BF16."""
    bits = {}
    for tensor in gguf.GGUFReader(path).tensors:
        if tensor.name in names:
            words = gguf.dequantize(tensor.data, tensor.tensor_type).view(np.uint32)
            assert not (words & 0xFFFF).any(), f"{tensor.name} holds more than BF16"
            bits[tensor.name] = (words >> 16).astype(np.uint16)
    return bits


def test_bf16_weights_are_bitwise_equal_in_both_formats(smollm2_variants: dict[str, ModelRef]) -> None:
    ours = gguf_bits(smollm2_variants["bf16"].path, set(PAIRS))
    assert set(ours) == set(PAIRS)
    with safe_open(smollm2_variants["bf16-hf"].path / "model.safetensors", framework="pt") as weights:
        for name, (hf_name, permuted_heads) in PAIRS.items():
            tensor = weights.get_tensor(hf_name)
            assert tensor.dtype == torch.bfloat16
            expected = ours[name] if permuted_heads is None else unpermuted(ours[name], permuted_heads)
            np.testing.assert_array_equal(tensor.view(torch.uint16).numpy(), expected, err_msg=name)


def test_both_bf16_files_are_one_checkpoint_by_their_own_values(smollm2_variants: dict[str, ModelRef]) -> None:
    file, folder = (provenance_of(smollm2_variants[name].path) for name in ("bf16", "bf16-hf"))
    assert file == folder
    assert not file.is_derived
    assert file.checkpoint_digest is not None


def test_every_variant_leads_to_the_checkpoint_that_the_files_hold(smollm2_variants: dict[str, ModelRef]) -> None:
    held = provenance_of(smollm2_variants["bf16-hf"].path).checkpoint_digest
    assert {ref.checkpoint_digest for ref in smollm2_variants.values()} == {held}
    assert {name: ref.is_derived for name, ref in smollm2_variants.items()} == {
        "q4_1": True,
        "bf16": False,
        "q8_0": True,
        "bf16-hf": False,
    }


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("bf16", "bf16-hf", "same"),
        ("bf16-hf", "q8_0", "derived"),
        ("q8_0", "q4_1", "derived"),
        ("q8_0", "q8_0", "same"),
    ],
)
def test_variants_relate_as_they_were_made(
    smollm2_variants: dict[str, ModelRef], one: str, other: str, relation: str
) -> None:
    assert weights_relation(smollm2_variants[one], smollm2_variants[other]) == relation


def test_every_variant_describes_the_same_model(smollm2_variants: dict[str, ModelRef]) -> None:
    assert set(smollm2_variants) == {"q4_1", "bf16", "q8_0", "bf16-hf"}
    fields = ("context_tokens", "num_layers", "num_heads", "num_kv_heads", "hidden_size", "vocab_size")
    shapes = {tuple(getattr(ref, field) for field in fields) for ref in smollm2_variants.values()}
    assert shapes == {(8192, 30, HEADS, KV_HEADS, 576, 49152)}


def test_the_hugging_face_folder_is_unquantised(smollm2_variants: dict[str, ModelRef]) -> None:
    assert "quantization_config" not in (smollm2_variants["bf16-hf"].path / "config.json").read_text()


def test_every_variant_has_the_same_tokenizer(smollm2_variants: dict[str, ModelRef]) -> None:
    files = [ref.tokenizer_path for ref in smollm2_variants.values() if ref.tokenizer_path is not None]
    assert len(files) == len(smollm2_variants)
    assert len({file.read_bytes() for file in files}) == 1


ODD = "naïve café — “quotes” 東京 🚢 tab\tnew\n\n\n  spaces   1234567890 don't I'll ½ ٣ <|im_start|>user\r\n x  "


@pytest.mark.parametrize(
    "text",
    [ODD, *(topics[topic][:8000] for topic in ("assert", "operator-summary", "strings", "formatstrings", "numbers"))],
    ids=lambda text: text.split()[0],
)
def test_the_tokenizer_file_is_the_engines_own(
    llamacpp: RunningLlamaCpp, smollm2_variants: dict[str, ModelRef], text: str
) -> None:
    path = smollm2_variants["q8_0"].tokenizer_path
    assert path is not None
    ours = Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids
    assert ours == llamacpp.post("/tokenize", {"content": text})["tokens"]
    assert len(ours) > 20
