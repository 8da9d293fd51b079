import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors import safe_open

from orchestrator.models import smollm2, tiny_llama
from orchestrator.models.fetching import fetch_known
from orchestrator.models.known import KNOWN
from orchestrator.models.provenance import provenance_of
from orchestrator.models.random_llama import RandomLlama, write_random_folder, write_random_gguf
from orchestrator.models.shelf import Recipe
from orchestrator.models.smollm2 import ORIGINAL, TOKENIZER
from orchestrator.models.tiny_llama import TINY

SMALL = RandomLlama(
    name="small",
    seed=1,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_size=8,
    intermediate_size=48,
    vocab_size=96,
    context_tokens=64,
)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_seed_always_gives_equal_files(tiny_gguf: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_random_folder(tmp_path / name, SMALL)
        write_random_gguf(tmp_path / f"{name}.gguf", SMALL, tokenizer=tiny_gguf)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")
    assert (tmp_path / "one.gguf").read_bytes() == (tmp_path / "two.gguf").read_bytes()


def test_another_seed_gives_another_checkpoint(tmp_path: Path) -> None:
    write_random_folder(tmp_path / "one", SMALL)
    write_random_folder(tmp_path / "two", replace(SMALL, seed=2))
    assert provenance_of(tmp_path / "one").checkpoint_digest != provenance_of(tmp_path / "two").checkpoint_digest


def test_both_formats_hold_the_same_checkpoint(tiny_gguf: Path, tmp_path: Path) -> None:
    write_random_folder(tmp_path / "hf", SMALL)
    write_random_gguf(tmp_path / "bf16.gguf", SMALL, tokenizer=tiny_gguf)
    found = provenance_of(tmp_path / "hf")
    assert found.checkpoint_digest is not None
    assert found == provenance_of(tmp_path / "bf16.gguf")


def test_transformers_reads_the_values_that_were_drawn(tmp_path: Path) -> None:
    write_random_folder(tmp_path / "hf", SMALL)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.bfloat16).state_dict()
    drawn = SMALL.draw()
    assert set(loaded) == set(drawn)
    for name, bits in drawn.items():
        np.testing.assert_array_equal(loaded[name].view(torch.uint16).numpy(), bits)


def test_the_safetensors_package_reads_what_we_write(tmp_path: Path) -> None:
    write_random_folder(tmp_path / "hf", SMALL)
    with safe_open(tmp_path / "hf" / "model.safetensors", framework="pt") as file:
        assert {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()} == SMALL.shapes()  # noqa: SIM118 - no mapping


def test_everything_says_that_the_weights_are_random(tmp_path: Path) -> None:
    write_random_folder(tmp_path / "hf", SMALL)
    assert "RANDOM" in (tmp_path / "hf" / "README.md").read_text()
    assert "RANDOM" in json.loads((tmp_path / "hf" / "config.json").read_text())["_name_or_path"]
    assert "random" in KNOWN[TINY.name].licence
    assert "RANDOM" in KNOWN[TINY.name].summary


@pytest.mark.parametrize("tp", [2, 4])
def test_the_heads_of_the_known_one_divide(tp: int) -> None:
    assert TINY.num_heads == 8
    assert (TINY.num_heads % tp, TINY.num_kv_heads % tp, TINY.vocab_size % tp) == (0, 0, 0)


def test_the_known_one_takes_its_tokenizer_from_the_shelf_beside_it(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tokenizer(target: Path, _sources: object) -> str:
        target.mkdir()
        (target / "tokenizer.json").write_text("{}")
        return "a stub"

    def original(target: Path, _sources: object) -> str:
        target.write_bytes(tiny_gguf.read_bytes())
        return "a stub"

    stubs = {ORIGINAL: Recipe("q4_1.gguf", original), TOKENIZER: Recipe("tokenizer", tokenizer)}
    monkeypatch.setattr(smollm2, "RECIPES", stubs)
    monkeypatch.setattr(tiny_llama, "TINY", SMALL)
    fetched = fetch_known(KNOWN[TINY.name], cache=tmp_path)
    assert [ref.variant for ref in fetched.variants] == ["bf16", "bf16-hf"]
    assert (tmp_path / "models" / "smollm2-135m" / "tokenizer" / "tokenizer.json").is_file()
    for ref in fetched.variants:
        assert "RANDOM" in ref.source
        assert ref.tokenizer_path is not None
        assert ref.tokenizer_path.read_text() == "{}"
    assert fetched.variants[0].checkpoint_digest == fetched.variants[1].checkpoint_digest is not None
