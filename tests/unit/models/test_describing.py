import json
from pathlib import Path

import gguf
import pytest

from orchestrator.domain.errors import InputError
from orchestrator.models import hashing
from orchestrator.models.describing import describe
from orchestrator.models.gguf_header import ArrayLength, read_metadata
from orchestrator.models.hashing import combined, remembered_sha256, sha256_of

CONFIG = {
    "max_position_embeddings": 8192,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "hidden_size": 576,
    "vocab_size": 49152,
    "dtype": "bfloat16",
}


@pytest.fixture
def hf_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "hf"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model-1.safetensors").write_bytes(b"one")
    (folder / "model-2.safetensors").write_bytes(b"two")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def test_our_header_reader_agrees_with_the_gguf_package(tiny_gguf: Path) -> None:
    ours = read_metadata(tiny_gguf)
    theirs = {name: field for name, field in gguf.GGUFReader(tiny_gguf).fields.items() if not name.startswith("GGUF.")}
    assert list(ours) == list(theirs)
    for name, field in theirs.items():
        expected = field.contents()
        seen = ours[name]
        assert seen == (ArrayLength(len(expected)) if isinstance(expected, list) else expected)


def test_a_gguf_is_described(tiny_gguf: Path, tmp_path: Path) -> None:
    ref = describe("tiny", tiny_gguf, memory=tmp_path)
    shape = (ref.context_tokens, ref.num_layers, ref.num_heads, ref.num_kv_heads, ref.hidden_size, ref.vocab_size)
    assert shape == (128, 2, 4, 2, 64, 96)
    assert (ref.format, ref.variant, ref.weights_precision) == ("gguf", "q4_1", "q4_1")
    assert ref.weights_sha256 == sha256_of(tiny_gguf)
    assert ref.tokenizer_path is None


def test_a_hugging_face_folder_is_described(hf_folder: Path, tmp_path: Path) -> None:
    ref = describe("mine", hf_folder, memory=tmp_path)
    shape = (ref.context_tokens, ref.num_layers, ref.num_heads, ref.num_kv_heads, ref.hidden_size, ref.vocab_size)
    assert shape == (8192, 30, 9, 3, 576, 49152)
    assert (ref.format, ref.variant, ref.weights_precision) == ("hf", "bf16-hf", "bf16")
    assert ref.tokenizer_path == hf_folder / "tokenizer.json"


def test_a_model_for_several_media_is_described_by_its_language_part(hf_folder: Path, tmp_path: Path) -> None:
    (hf_folder / "config.json").write_text(json.dumps({"text_config": CONFIG, "vision_config": {"hidden_size": 1}}))
    ref = describe("mine", hf_folder, memory=tmp_path)
    assert ref.hidden_size == 576
    assert "the model also reads images; only text is sent" in ref.source


def test_a_model_for_text_alone_has_no_note_on_media(hf_folder: Path, tmp_path: Path) -> None:
    assert "only text" not in describe("mine", hf_folder, memory=tmp_path).source


@pytest.mark.parametrize(
    "changes",
    [
        {"quantization_config": {"quant_method": "AWQ", "bits": 4}},
        {"compression_config": {"quant_method": "awq"}},
        {"text_config": {**CONFIG, "quantization_config": {"quant_method": "awq"}}, "audio_config": {"x": 1}},
    ],
)
def test_a_folder_says_how_it_is_quantised_wherever_it_says_so(
    hf_folder: Path, tmp_path: Path, changes: dict[str, object]
) -> None:
    (hf_folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    ref = describe("mine", hf_folder, memory=tmp_path)
    assert (ref.weights_precision, ref.variant, ref.is_derived) == ("awq", "awq-hf", True)


def test_what_modelopt_quantised_is_told_by_its_own_file(hf_folder: Path, tmp_path: Path) -> None:
    (hf_folder / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "FP8"}}))
    ref = describe("mine", hf_folder, memory=tmp_path)
    assert (ref.weights_precision, ref.is_derived) == ("fp8", True)


def test_a_quantisation_of_null_is_none(hf_folder: Path, tmp_path: Path) -> None:
    (hf_folder / "config.json").write_text(json.dumps({**CONFIG, "quantization_config": None}))
    assert describe("mine", hf_folder, memory=tmp_path).weights_precision == "bf16"


def test_a_configuration_that_is_no_object_is_refused(hf_folder: Path, tmp_path: Path) -> None:
    (hf_folder / "config.json").write_text("[]")
    with pytest.raises(InputError, match="expected a JSON object, seen list"):
        describe("mine", hf_folder, memory=tmp_path)


def test_every_weights_file_counts_in_the_hash_and_nothing_else_does(hf_folder: Path, tmp_path: Path) -> None:
    before = describe("mine", hf_folder, memory=tmp_path).weights_sha256
    (hf_folder / "README.md").write_text("new")
    assert describe("mine", hf_folder, memory=tmp_path).weights_sha256 == before
    (hf_folder / "model-2.safetensors").write_bytes(b"other")
    assert describe("mine", hf_folder, memory=tmp_path).weights_sha256 != before


def test_hashes_of_files_are_combined_by_name_not_by_order() -> None:
    assert combined({"a": "1", "b": "2"}) == combined({"b": "2", "a": "1"}) != combined({"a": "2", "b": "1"})
    assert combined({"only": "1"}) == "1"


def test_an_unchanged_file_is_hashed_once(tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = remembered_sha256(tiny_gguf, folder=tmp_path / "memory")
    with monkeypatch.context() as patch:
        patch.setattr(hashing, "sha256_of", lambda _path: "read again")
        assert remembered_sha256(tiny_gguf, folder=tmp_path / "memory") == first
    tiny_gguf.write_bytes(b"changed")
    assert remembered_sha256(tiny_gguf, folder=tmp_path / "memory") == sha256_of(tiny_gguf) != first


@pytest.mark.parametrize("length", [0, 3, 20, 60, 1000])
def test_a_gguf_cut_short_is_refused(tiny_gguf: Path, tmp_path: Path, length: int) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_gguf.read_bytes()[:length])
    with pytest.raises(InputError, match=r"cut\.gguf: not a whole GGUF file"):
        describe("cut", cut, memory=tmp_path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "weights.bin"
    other.write_bytes(b"PK\x03\x04" * 100)
    with pytest.raises(InputError, match="begins with"):
        describe("other", other, memory=tmp_path)


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        describe("nothing", tmp_path / "nothing.gguf", memory=tmp_path)


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config\.json"):
        describe("empty", tmp_path, memory=tmp_path)


def test_a_folder_without_weights_is_refused(hf_folder: Path, tmp_path: Path) -> None:
    for file in hf_folder.glob("*.safetensors"):
        file.unlink()
    with pytest.raises(InputError, match="no weights"):
        describe("mine", hf_folder, memory=tmp_path)


@pytest.mark.parametrize("value", [None, "many", 1.5])
def test_a_missing_fact_is_named(hf_folder: Path, tmp_path: Path, value: object) -> None:
    (hf_folder / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": value}))
    with pytest.raises(InputError, match="num_hidden_layers is"):
        describe("mine", hf_folder, memory=tmp_path)
