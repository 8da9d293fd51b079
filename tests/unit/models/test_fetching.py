from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.models import fetch, fetching, hub, resolve
from orchestrator.models.fetching import cache_folder, fetch_known
from orchestrator.models.known import ORIGINAL, TOKENIZER, KnownModel, derived_recipes
from orchestrator.models.shelf import Recipe


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
    with pytest.raises(InputError, match="check the name, your network and your hub token"):
        resolve("hf://org/name", "bf16", cache=tmp_path)


def test_a_single_file_and_a_revision_may_be_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_gguf: Path
) -> None:
    asked = []

    def give(*arguments: object, **options: object) -> str:
        asked.append((arguments, options))
        return str(tiny_gguf)

    monkeypatch.setattr(hub, "hf_hub_download", give)
    ref = resolve("hf://org/name/deep/tiny.gguf@v1", "bf16", cache=tmp_path / "cache")
    assert asked == [(("org/name", "deep/tiny.gguf"), {"revision": "v1"})]
    assert (ref.format, ref.source) == ("gguf", "hf://org/name/deep/tiny.gguf@v1")
