from pathlib import Path

import gguf
import numpy as np
import pytest

from orchestrator.models import fetching, provenance, resolve
from orchestrator.models.gguf_header import read_header
from orchestrator.models.llama_layout import in_gguf_order, in_hf_order
from orchestrator.models.provenance import provenance_of
from orchestrator.models.tensors import bf16_bits, float32_of
from tests.unit.models.tiny_weights import HEADS, KV_HEADS, Tensors, permuted, write_folder, write_llama_gguf

Q, V = "model.layers.1.self_attn.q_proj.weight", "model.layers.0.self_attn.v_proj.weight"
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


def digest_of(path: Path) -> str:
    found = provenance_of(path)
    assert found.checkpoint_digest is not None, found.reason
    return found.checkpoint_digest


def test_a_folder_and_its_gguf_are_one_checkpoint(llama: Tensors, tmp_path: Path) -> None:
    found = provenance_of(write_folder(tmp_path / "hf", llama))
    assert found == provenance_of(write_llama_gguf(tmp_path / "bf16.gguf", llama))
    assert found.checkpoint_digest is not None
    assert not found.is_derived


@pytest.mark.parametrize("form", ["hf", "gguf"])
@pytest.mark.parametrize("name", [Q, V, EMBEDDING, "model.norm.weight", "model.layers.1.mlp.down_proj.weight"])
def test_one_changed_value_changes_the_digest(llama: Tensors, tmp_path: Path, form: str, name: str) -> None:
    write = write_folder if form == "hf" else write_llama_gguf
    before = digest_of(write(tmp_path / "before", llama))
    changed = llama[name].copy()
    changed.flat[-1] *= -1
    assert digest_of(write(tmp_path / "after", {**llama, name: changed})) != before


def test_a_gguf_whose_rows_were_not_reordered_is_another_checkpoint(llama: Tensors, tmp_path: Path) -> None:
    right, wrong = (
        write_llama_gguf(tmp_path / f"{is_permuted}.gguf", llama, is_permuted=is_permuted)
        for is_permuted in (True, False)
    )
    assert digest_of(right) != digest_of(wrong)


def test_two_tensors_that_change_places_change_the_digest(llama: Tensors, tmp_path: Path) -> None:
    other = "model.layers.1.self_attn.v_proj.weight"
    swapped = {**llama, V: llama[other], other: llama[V]}
    assert digest_of(write_folder(tmp_path / "a", llama)) != digest_of(write_folder(tmp_path / "b", swapped))


@pytest.mark.parametrize("heads", [HEADS, KV_HEADS])
@pytest.mark.parametrize("shape", [(64, 3), (64,)])
def test_the_order_of_rows_is_that_of_the_converter(heads: int, shape: tuple[int, ...]) -> None:
    rows = np.arange(np.prod(shape)).reshape(shape)
    np.testing.assert_array_equal(in_gguf_order(rows, heads), permuted(rows, heads))
    np.testing.assert_array_equal(in_hf_order(in_gguf_order(rows, heads), heads), rows)


def test_how_a_checkpoint_is_cut_into_files_does_not_matter(llama: Tensors, tmp_path: Path) -> None:
    one, three = (digest_of(write_folder(tmp_path / str(count), llama, files=count)) for count in (1, 3))
    assert one == three


@pytest.mark.parametrize("dtype", ["F32", "F16"])
def test_wider_types_that_hold_the_same_values_are_the_same_checkpoint(
    llama: Tensors, tmp_path: Path, dtype: str
) -> None:
    coarse = {name: np.round(values * 4) / 4 for name, values in llama.items()}  # in reach of all three types
    expected = provenance_of(write_folder(tmp_path / "bf16", coarse))
    assert provenance_of(write_folder(tmp_path / "hf", coarse, dtype=dtype)) == expected
    assert provenance_of(write_llama_gguf(tmp_path / "wide.gguf", coarse, kind=dtype)) == expected
    assert not expected.is_derived


def test_values_that_had_to_be_rounded_are_derived_and_not_the_same(llama: Tensors, tmp_path: Path) -> None:
    finer = {**llama, V: llama[V] * np.float32(1.0001)}
    found = provenance_of(write_folder(tmp_path / "f32", finer, dtype="F32"))
    assert found.is_derived
    assert found.checkpoint_digest == digest_of(write_folder(tmp_path / "bf16", finer))


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_1"])
def test_a_quantised_file_has_a_parent_that_nobody_knows(llama: Tensors, tmp_path: Path, kind: str) -> None:
    found = provenance_of(write_llama_gguf(tmp_path / "q.gguf", llama, kind=kind))
    assert (found.checkpoint_digest, found.is_derived) == (None, True)
    assert found.reason is not None
    assert "is stored as GGML type" in found.reason


def test_a_quantised_folder_has_a_parent_that_nobody_knows(llama: Tensors, tmp_path: Path) -> None:
    found = provenance_of(write_folder(tmp_path / "hf", llama, quantization_config={"quant_method": "awq"}))
    assert (found.checkpoint_digest, found.is_derived) == (None, True)


def test_an_output_layer_that_is_the_embedding_need_not_be_stored(llama: Tensors, tmp_path: Path) -> None:
    twice = {**llama, HEAD: llama[EMBEDDING]}
    expected = digest_of(write_folder(tmp_path / "tied", llama))
    assert digest_of(write_folder(tmp_path / "twice", twice, tie_word_embeddings=False)) == expected
    assert digest_of(write_llama_gguf(tmp_path / "twice.gguf", twice)) == expected


def test_an_output_layer_of_its_own_counts(llama: Tensors, tmp_path: Path) -> None:
    untied = {**llama, HEAD: -llama[EMBEDDING]}
    folder = write_folder(tmp_path / "untied", untied, tie_word_embeddings=False)
    assert digest_of(folder) == digest_of(write_llama_gguf(tmp_path / "untied.gguf", untied))
    assert digest_of(folder) != digest_of(write_folder(tmp_path / "tied", llama))


def test_an_output_layer_that_no_engine_reads_does_not_count(llama: Tensors, tmp_path: Path) -> None:
    ignored = write_folder(tmp_path / "ignored", {**llama, HEAD: -llama[EMBEDDING]}, tie_word_embeddings=True)
    assert digest_of(ignored) == digest_of(write_folder(tmp_path / "tied", llama))


def test_biases_are_reordered_and_counted_like_weights(llama: Tensors, tmp_path: Path) -> None:
    biased = {**llama, Q.replace("weight", "bias"): llama["model.norm.weight"]}
    folder, file = write_folder(tmp_path / "hf", biased), write_llama_gguf(tmp_path / "bf16.gguf", biased)
    assert digest_of(folder) == digest_of(file) != digest_of(write_folder(tmp_path / "plain", llama))


def test_what_follows_from_the_configuration_does_not_count(llama: Tensors, tmp_path: Path) -> None:
    expected = digest_of(write_folder(tmp_path / "plain", llama))
    with_buffer = {**llama, "model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(8, np.float32)}
    assert digest_of(write_folder(tmp_path / "old", with_buffer)) == expected
    with_factors = {**llama, "rope_freqs.weight": np.ones(8, np.float32)}
    assert digest_of(write_llama_gguf(tmp_path / "factors.gguf", with_factors)) == expected


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "qwen2"}, "architecture 'qwen2' is not among"),
        ({"num_hidden_layers": 3}, r"9 tensors are missing, model\.layers\.2\."),
        ({"num_hidden_layers": 1}, r"9 tensors are not those of the architecture, model\.layers\.1\."),
        ({"num_hidden_layers": None}, "num_hidden_layers is None"),
        ({"tie_word_embeddings": False}, r"1 tensors are missing, lm_head\.weight"),
    ],
)
def test_what_is_not_certain_has_a_reason_and_no_digest(
    llama: Tensors, tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    found = provenance_of(write_folder(tmp_path / "hf", llama, **changes))
    assert found.checkpoint_digest is None
    with pytest.raises(ValueError, match=reason):
        raise ValueError(found.reason)


def test_another_architecture_of_gguf_has_no_digest(llama: Tensors, tmp_path: Path) -> None:
    found = provenance_of(write_llama_gguf(tmp_path / "qwen2.gguf", llama, architecture="qwen2"))
    assert (found.checkpoint_digest, found.is_derived) == (None, False)
    assert found.reason == "architecture 'qwen2' is not among those read here (llama)"


def test_experts_are_not_taken_for_a_llama(llama: Tensors, tmp_path: Path) -> None:
    found = provenance_of(write_llama_gguf(tmp_path / "moe.gguf", {**llama, "blk.0.ffn_gate_inp.weight": llama[V]}))
    assert found.checkpoint_digest is None
    assert "blk.0.ffn_gate_inp.weight among them" in str(found.reason)


def test_a_name_in_two_files_is_no_checkpoint(llama: Tensors, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", llama)
    (folder / "consolidated.safetensors").write_bytes((folder / "model-0.safetensors").read_bytes())
    assert "as another file of the folder does" in str(provenance_of(folder).reason)


@pytest.mark.parametrize("kept_bytes", [0, 5, 100, -1])
def test_files_cut_short_have_no_digest(llama: Tensors, tmp_path: Path, kept_bytes: int) -> None:
    folder, file = write_folder(tmp_path / "hf", llama), write_llama_gguf(tmp_path / "bf16.gguf", llama)
    for path in (folder / "model-0.safetensors", file):
        path.write_bytes(path.read_bytes()[:kept_bytes])
    for path in (folder, file):
        found = provenance_of(path)
        assert found.checkpoint_digest is None
        assert found.reason


def test_large_tensors_are_read_in_blocks_to_the_same_end(
    llama: Tensors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_llama_gguf(tmp_path / "bf16.gguf", llama)
    expected = digest_of(file)
    monkeypatch.setattr(provenance, "BLOCK_VALUES", 100)
    assert digest_of(file) == expected


def test_our_reader_finds_the_tensors_that_the_gguf_package_finds(tiny_gguf: Path, llama: Tensors) -> None:
    file = write_llama_gguf(tiny_gguf.with_name("bf16.gguf"), llama)
    for path in (tiny_gguf, file):
        ours = read_header(path).tensors
        theirs = gguf.GGUFReader(path).tensors
        assert list(ours) == [one.name for one in theirs]
        for one in theirs:
            seen = ours[one.name]
            assert (seen.shape, seen.offset_bytes) == (tuple(int(size) for size in one.shape)[::-1], one.data_offset)
            assert seen.dtype == (one.tensor_type.name if seen.is_plain else f"GGML type {one.tensor_type.value}")


def test_rounding_agrees_with_the_gguf_package_also_for_what_is_no_number() -> None:
    words = np.random.default_rng(1).integers(0, 1 << 32, 40_000, dtype=np.uint32)
    special = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 1])
    values = np.concatenate([words, special.astype(np.uint32)]).reshape(-1, 1).repeat(2, axis=1).view(np.float32)
    theirs = gguf.quantize(values, gguf.GGMLQuantizationType.BF16).view(np.uint16)
    np.testing.assert_array_equal(bf16_bits(values).bits, theirs)
    assert bf16_bits(float32_of(theirs)).is_exact
    assert not bf16_bits(values).is_exact


def test_a_second_look_reads_no_tensor(llama: Tensors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, file = write_folder(tmp_path / "hf", llama), write_llama_gguf(tmp_path / "bf16.gguf", llama)
    first = [resolve("mine", "any", path=path, cache=tmp_path / "cache") for path in (folder, file)]
    assert first[0].checkpoint_digest == first[1].checkpoint_digest == digest_of(folder)
    with monkeypatch.context() as patch:
        patch.setattr(provenance, "provenance_of", lambda _path: pytest.fail("read again"))
        assert [resolve("mine", "any", path=path, cache=tmp_path / "cache") for path in (folder, file)] == first
    write_llama_gguf(file, {**llama, V: -llama[V]})
    assert resolve("mine", "any", path=file, cache=tmp_path / "cache").checkpoint_digest == digest_of(file)


def test_a_changed_configuration_is_looked_at_again(llama: Tensors, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", llama)
    assert resolve("mine", "any", path=folder, cache=tmp_path / "cache").checkpoint_digest is not None
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"llama"', '"other"'))
    found = resolve("mine", "any", path=folder, cache=tmp_path / "cache")
    assert found.checkpoint_digest is None
    assert "checkpoint not known: architecture 'other'" in found.source


def test_a_quantised_file_of_ones_own_is_derived_from_what_nobody_knows(llama: Tensors, tmp_path: Path) -> None:
    ref = resolve("mine", "any", path=write_llama_gguf(tmp_path / "q.gguf", llama, kind="Q8_0"), cache=tmp_path)
    assert (ref.checkpoint_digest, ref.is_derived) == (None, True)


def test_a_memory_that_cannot_be_kept_costs_a_second_look_only(llama: Tensors, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    folder = write_folder(tmp_path / "hf", llama)
    assert resolve("mine", "any", path=folder, cache=tmp_path / "cache").checkpoint_digest == digest_of(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "7"])
def test_a_memory_that_cannot_be_read_costs_a_second_look_only(llama: Tensors, tmp_path: Path, content: str) -> None:
    folder = write_folder(tmp_path / "hf", llama)
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in (provenance.MEMORY, "sha256.json"):
        (cache / name).write_text(content)
    first = resolve("mine", "any", path=folder, cache=cache)
    assert first.checkpoint_digest == digest_of(folder)
    assert fetching.resolve("mine", "any", path=folder, cache=cache) == first
