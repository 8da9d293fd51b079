from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from huggingface_hub import DryRunFileInfo

from orchestrator.domain.errors import InputError
from orchestrator.models import fetch, fetching, hub, resolve, space
from orchestrator.models.fetching import cache_folder, fetch_known
from orchestrator.models.known import KnownModel
from orchestrator.models.shelf import Recipe
from orchestrator.models.smollm2 import ORIGINAL, TOKENIZER, derived_recipes


class DiskUsage(NamedTuple):
    """What `shutil.disk_usage` says, as far as anybody asks."""

    free: int


@pytest.fixture
def tiny(tiny_gguf: Path) -> KnownModel:
    """A known model whose original is at hand and whose tokenizer is a stub."""

    def original(target: Path, _sources: Mapping[str, Path]) -> str:
        target.write_bytes(tiny_gguf.read_bytes())
        return "from the test"

    def tokenizer(target: Path, _sources: Mapping[str, Path]) -> str:
        target.mkdir()
        (target / "tokenizer.json").write_text("{}")
        return "a stub"

    recipes = {**derived_recipes(), ORIGINAL: Recipe("q4_1.gguf", original), TOKENIZER: Recipe("tokenizer", tokenizer)}
    return KnownModel("tiny", "Apache-2.0", recipes, (ORIGINAL, "bf16", "q8_0"))


def test_every_variant_is_what_its_name_says(tiny: KnownModel, tmp_path: Path) -> None:
    fetched = fetch_known(tiny, cache=tmp_path / "cache")
    assert [(ref.variant, ref.weights_precision) for ref in fetched.variants] == [
        ("q4_1", "q4_1"),
        ("bf16", "bf16"),
        ("q8_0", "q8_0"),
    ]
    assert len({ref.weights_sha256 for ref in fetched.variants}) == 3
    assert {ref.tokenizer_path for ref in fetched.variants} == {fetched.folder / "tokenizer" / "tokenizer.json"}
    assert fetched.variants[1].source.startswith("from the test; dequantised")


def test_only_the_variants_asked_for_are_made(tiny: KnownModel, tmp_path: Path) -> None:
    fetched = fetch_known(tiny, cache=tmp_path / "cache", variants=["q8_0"])
    assert [ref.variant for ref in fetched.variants] == ["q8_0"]
    assert not (fetched.folder / "bf16.gguf").exists()


def test_names_resolve_to_what_fetching_made(tiny: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "KNOWN", {"tiny": tiny})
    fetched = fetch("tiny", cache=tmp_path / "cache")
    assert resolve("tiny", "bf16", cache=tmp_path / "cache") == fetched.variants[1]


def test_a_path_is_described_as_what_it_is(tiny_gguf: Path, tmp_path: Path) -> None:
    ref = resolve("mine", "bf16", path=tiny_gguf, cache=tmp_path / "cache")
    assert (ref.name, ref.variant, ref.path) == ("mine", "q4_1", tiny_gguf)


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown model: 'smollm2-135'; .* did you mean 'smollm2-135m'"):
        fetch("smollm2-135", cache=tmp_path)


def test_an_unknown_variant_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown variant of smollm2-135m: 'q8'; .* did you mean 'q8_0'"):
        resolve("smollm2-135m", "q8", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("SEATRIAL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "seatrial"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "seatrial"


@pytest.mark.parametrize("address", ["hf://", "hf://name", "hf://org/name/weights.bin", "hf://org/na me"])
def test_an_address_of_another_shape_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected hf://organisation/name"):
        fetch(address, cache=tmp_path)


def test_a_hub_that_does_not_answer_is_said_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise ConnectionError("no route\nmore")

    monkeypatch.setattr(hub, "snapshot_download", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=r"\(ConnectionError: no route\); HF_HUB_OFFLINE is set; unset it"):
        resolve("hf://org/name", "bf16", cache=tmp_path)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(
        InputError, match="check the name, your network and, for a private one, your hub token in HF_TOKEN"
    ):
        resolve("hf://org/name", "bf16", cache=tmp_path)


def test_a_single_file_and_a_revision_may_be_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_gguf: Path
) -> None:
    asked = []

    def give(*arguments: object, **options: object) -> str:
        asked.append((arguments, options))
        return str(tiny_gguf)

    monkeypatch.setattr(hub, "hf_hub_download", give)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    ref = resolve("hf://org/name/deep/tiny.gguf@v1", "bf16", cache=tmp_path / "cache")
    assert asked == [(("org/name", "deep/tiny.gguf"), {"revision": "v1", "token": False})]
    assert ref.format == "gguf"
    assert ref.source.startswith("hf://org/name/deep/tiny.gguf@v1 (checkpoint not known: token_embd.weight is stored")


def test_the_hub_gets_the_token_of_the_environment_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_gguf: Path
) -> None:
    tokens = []

    def give(*_arguments: object, token: object, **_options: object) -> str:
        tokens.append(token)
        return str(tiny_gguf)

    monkeypatch.setattr(hub, "hf_hub_download", give)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    resolve("hf://org/name/tiny.gguf", "bf16", cache=tmp_path)
    monkeypatch.setenv("HF_TOKEN", "of the environment")
    resolve("hf://org/name/tiny.gguf", "bf16", cache=tmp_path)
    assert tokens == [False, "of the environment"]


def test_what_the_hub_would_send_must_fit_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def tell(*_arguments: object, dry_run: bool = False, **_options: object) -> list[DryRunFileInfo]:
        assert dry_run, "fetched although it does not fit"
        facts = {"commit_hash": "c", "filename": "f", "local_path": "p"}
        missing, there = (
            DryRunFileInfo(**facts, file_size=size, is_cached=not is_missing, will_download=is_missing)
            for size, is_missing in ((5_000_000, True), (7_000_000, False))
        )
        return [missing, there]

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(hub, "snapshot_download", tell)
    monkeypatch.setattr(space.shutil, "disk_usage", lambda _place: DiskUsage(free=4_000_000))
    with pytest.raises(InputError, match=r"fetching hf://org/name takes up to 5 MB in .*4 MB are free.*HF_HOME"):
        fetch("hf://org/name", cache=tmp_path)


def test_quantised_variants_carry_the_digest_that_their_recipe_names(tiny: KnownModel, tmp_path: Path) -> None:
    fetched = fetch_known(replace(tiny, checkpoint_digest="of the parent"), cache=tmp_path)
    facts = {ref.variant: (ref.checkpoint_digest, ref.is_derived) for ref in fetched.variants}
    assert facts["q4_1"] == facts["q8_0"] == ("of the parent", True)
    assert facts["bf16"] == (None, False)  # read from the file, and this one is no whole llama


def test_without_space_nothing_is_written(tiny: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space.shutil, "disk_usage", lambda _place: DiskUsage(free=149_000_000))
    with pytest.raises(InputError, match=r"making q4_1, q8_0, tokenizer of tiny takes up to 150 MB.*SEATRIAL_CACHE"):
        fetch_known(tiny, cache=tmp_path / "cache", variants=["q8_0"])
    assert not (tmp_path / "cache").exists()
    monkeypatch.setattr(space.shutil, "disk_usage", lambda _place: DiskUsage(free=150_000_000))
    assert fetch_known(tiny, cache=tmp_path / "cache", variants=["q8_0"]).variants[0].path.is_file()


def test_what_is_there_needs_no_space(tiny: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch_known(tiny, cache=tmp_path, variants=["q8_0"])
    monkeypatch.setattr(space.shutil, "disk_usage", lambda _place: DiskUsage(free=0))
    assert fetch_known(tiny, cache=tmp_path, variants=["q8_0"]).variants[0].variant == "q8_0"
