import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import fsspec
import pytest

from orchestrator.domain.errors import InputError
from orchestrator.models import resolve, space
from orchestrator.models.object_store import fetch_from_store
from orchestrator.models.remote import RemoteWeights
from tests.unit.models.tiny_weights import Tensors, write_folder, write_llama_gguf

SUMS = "SHA256SUMS"


class DiskUsage(NamedTuple):
    """What `shutil.disk_usage` says, as far as anybody asks."""

    free: int


@pytest.fixture
def origin(tmp_path: Path, llama: Tensors) -> Path:
    """A folder of weights in two files, as somebody keeps it on a share."""
    return write_folder(tmp_path / "share", llama, files=2)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of what was copied, in order."""
    seen: list[str] = []
    copy = RemoteWeights.copy

    def watched(remote: RemoteWeights, *arguments: object) -> None:
        seen.append(remote.uri)
        copy(remote, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(RemoteWeights, "copy", watched)
    return seen


def write_sums(folder: Path, **changes: str) -> None:
    sums = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.glob("*.safetensors")}
    lines = [f"{sha256}  {name}\n" for name, sha256 in {**sums, **changes}.items()]
    (folder / SUMS).write_text("".join(lines))


def left_in(cache: Path) -> list[str]:
    return sorted(one.name for one in cache.rglob("*") if one.is_file() and one.name != ".lock")


def test_a_folder_is_copied_once_and_described_as_the_weights_it_holds(
    origin: Path, cache: Path, downloads: list[str]
) -> None:
    here = resolve("mine", "any", path=origin, cache=cache)
    first = resolve("mine", "any", uri=f"file://{origin}", cache=cache)
    assert first.path.is_relative_to(cache / "objects")
    assert (first.weights_sha256, first.checkpoint_digest) == (here.weights_sha256, here.checkpoint_digest)
    assert resolve("mine", "any", uri=f"file://{origin}", cache=cache) == first
    assert downloads == [f"file://{origin}"]


def test_what_changes_in_the_store_is_copied_beside_the_old_copy(
    origin: Path, cache: Path, downloads: list[str]
) -> None:
    old = fetch_from_store(f"file://{origin}", cache=cache)
    (origin / "config.json").write_text((origin / "config.json").read_text() + "\n")
    new = fetch_from_store(f"file://{origin}", cache=cache)
    assert new.path != old.path
    assert old.path.is_dir()
    assert len(downloads) == 2


def test_a_copy_that_was_damaged_is_made_anew(origin: Path, cache: Path, downloads: list[str]) -> None:
    copied = fetch_from_store(f"file://{origin}", cache=cache)
    (copied.path / "model-0.safetensors").write_bytes(b"damaged")
    again = fetch_from_store(f"file://{origin}", cache=cache)
    assert (again.path / "model-0.safetensors").read_bytes() == (origin / "model-0.safetensors").read_bytes()
    assert len(downloads) == 2


def test_a_single_gguf_is_one_file_in_the_cache(tmp_path: Path, llama: Tensors, cache: Path) -> None:
    file = write_llama_gguf(tmp_path / "x.gguf", llama)
    with fsspec.filesystem("memory").open("/bucket/x.gguf", "wb") as remote:
        remote.write(file.read_bytes())
    ref = resolve("mine", "any", uri="memory://bucket/x.gguf", cache=cache)
    assert (ref.format, ref.path.name) == ("gguf", "x.gguf")
    assert ref.path.read_bytes() == file.read_bytes()
    assert ref.source.startswith("memory://bucket/x.gguf (1 files, ")
    assert ref.source.endswith("x.gguf: size as listed, content not proved")


def test_files_that_no_engine_reads_stay_where_they_are(origin: Path, cache: Path) -> None:
    (origin / "original").mkdir()
    (origin / "original" / "consolidated.safetensors").write_bytes(b"many gigabytes")
    (origin / "pytorch_model.bin").write_bytes(b"the same again")
    (origin / "picture.png").write_bytes(b"")
    copied = fetch_from_store(f"file://{origin}", cache=cache)
    assert sorted(one.name for one in copied.path.iterdir()) == [
        "config.json",
        "model-0.safetensors",
        "model-1.safetensors",
    ]


def test_the_source_says_of_which_files_the_content_is_proved(origin: Path, cache: Path) -> None:
    write_sums(origin)
    assert fetch_from_store(f"file://{origin}", cache=cache).source.split(": ", 1)[1] == (
        "config.json: size as listed, content not proved; model-0.safetensors, model-1.safetensors: size as listed, "
        "sha256 as in SHA256SUMS beside the weights"
    )


def test_a_file_of_another_sha256_than_stands_beside_it_is_not_kept(origin: Path, cache: Path) -> None:
    write_sums(origin, **{"model-1.safetensors": "0" * 64})
    with pytest.raises(InputError, match=f"model-1.safetensors has sha256 .*, SHA256SUMS beside it says {'0' * 64}"):
        fetch_from_store(f"file://{origin}", cache=cache)
    assert left_in(cache) == []


def test_our_own_manifest_proves_a_gguf_beside_it(tmp_path: Path, llama: Tensors, cache: Path) -> None:
    file = write_llama_gguf(tmp_path / "x.gguf", llama)
    fact = {"size_bytes": 1, "mtime_ns": 1, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    manifest = '{"artefacts": {"x": {"steps": [], "files": {"x.gguf": %s}}}}' % str(fact).replace("'", '"')  # noqa: UP031
    (tmp_path / "manifest.json").write_text(manifest)
    source = fetch_from_store(f"file://{file}", cache=cache).source
    assert source.endswith("sha256 as in manifest.json beside the weights")
    (tmp_path / "manifest.json").write_text('{"name": "somebody else\'s manifest"}')
    assert fetch_from_store(f"file://{file}", cache=cache / "other").source.endswith("content not proved")


def test_a_copy_of_another_size_than_listed_is_not_kept(
    origin: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        RemoteWeights, "copy", lambda _remote, _listing, files: [one.write_bytes(b"half") for one in files.values()]
    )
    with pytest.raises(InputError, match=r"config\.json has 4 bytes, listed were"):
        fetch_from_store(f"file://{origin}", cache=cache)
    assert left_in(cache) == []


def test_weights_that_change_under_the_copy_are_not_kept(
    origin: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = RemoteWeights.copy

    def meddle(remote: RemoteWeights, *arguments: object) -> None:
        copy(remote, *arguments)  # type: ignore[arg-type]
        (origin / "tokenizer.json").write_text("{}")

    monkeypatch.setattr(RemoteWeights, "copy", meddle)
    with pytest.raises(InputError, match="changed while it was fetched"):
        fetch_from_store(f"file://{origin}", cache=cache)
    assert left_in(cache) == []


def test_an_interrupted_copy_leaves_nothing_that_counts(
    origin: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = fetch_from_store(f"file://{origin}", cache=cache / "other")
    place = cache / copied.path.parent.relative_to(cache / "other")
    leftover = place / f".part-{copied.path.name}"
    leftover.mkdir(parents=True)
    (leftover / "model-0.safetensors").write_bytes(b"half")  # of one that was killed

    def interrupt(_remote: RemoteWeights, _listing: object, files: dict[str, Path]) -> None:
        files["config.json"].write_text("{}")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RemoteWeights, "copy", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch_from_store(f"file://{origin}", cache=cache)
    assert left_in(cache / "objects") == []
    assert fetch_from_store(f"file://{origin}", cache=cache).path.is_dir()


def test_one_maker_at_a_time_copies_and_the_others_find_it(origin: Path, cache: Path, downloads: list[str]) -> None:
    uri = f"file://{origin}"
    makers = [threading.Thread(target=fetch_from_store, args=(uri,), kwargs={"cache": cache}) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert downloads == [uri]


def test_what_does_not_fit_is_not_begun(
    origin: Path, cache: Path, downloads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space.shutil, "disk_usage", lambda _place: DiskUsage(free=1_000))
    with pytest.raises(InputError, match=r"fetching file://.*MB are free.*SEATRIAL_CACHE"):
        fetch_from_store(f"file://{origin}", cache=cache)
    assert downloads == []


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://me:hush@bucket/x", "credentials to the service's own client through environment variables"),
        ("s3://me:hu/sh@bucket/x", "credentials to the service's own client through environment variables"),
        ("https://host/x.gguf?token=hush", "a query is not accepted"),
        ("hf://org/name", "name: hf://organisation/name"),
        ("simplecache::s3://bucket/x", "expected one address"),
        ("/models/x", "expected one address"),
    ],
)
def test_an_address_that_cannot_be_recorded_is_refused_without_repeating_it(
    uri: str, expected: str, cache: Path
) -> None:
    with pytest.raises(InputError, match=expected) as caught:
        fetch_from_store(uri, cache=cache)
    assert "hu" not in str(caught.value).replace("hub", "").replace("Hugging", "")


def test_an_at_sign_in_a_key_is_no_password(cache: Path) -> None:
    with pytest.raises(InputError, match="seen nothing"):
        fetch_from_store("memory://bucket/models@v1", cache=cache)


@pytest.mark.parametrize(
    "reason",
    [
        "403, message='Forbidden', url='https://cdn.example/x?X-Signature=hush&more=hush'",
        'Could not connect to the endpoint URL: "http://me:hush@proxy:3128/x"',
    ],
)
def test_what_a_client_says_of_a_signed_address_or_a_proxy_is_not_repeated(
    reason: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_uri: str) -> RemoteWeights:
        raise OSError(reason)

    monkeypatch.setattr(RemoteWeights, "open", refuse)
    with pytest.raises(InputError, match=r"\[hidden\]") as caught:
        fetch_from_store("https://host/x", cache=cache)
    assert "hush" not in str(caught.value)


def test_a_protocol_that_nobody_knows_is_said_plainly(cache: Path) -> None:
    with pytest.raises(InputError, match=r"nosuch://x: not fetched \(ValueError: Protocol not known"):
        fetch_from_store("nosuch://x", cache=cache)


def test_a_folder_without_weights_is_answered_with_what_it_holds(origin: Path, cache: Path) -> None:
    for file in origin.glob("*.safetensors"):
        file.rename(file.with_suffix(".gguf"))
    with pytest.raises(InputError, match=r"seen config\.json, model-0\.gguf, .*give the address of the \.gguf file"):
        fetch_from_store(f"file://{origin}", cache=cache)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_web_server_gives_a_file_and_a_folder_that_it_lists(
    origin: Path, cache: Path, web: str, downloads: list[str]
) -> None:
    write_sums(origin)
    expected = resolve("mine", "any", path=origin, cache=cache)
    for _ in range(2):
        ref = resolve("mine", "any", uri=f"{web}/share", cache=cache)
        assert ref.checkpoint_digest == expected.checkpoint_digest
        assert "sha256 as in SHA256SUMS" in ref.source
    assert len(downloads) == 1
    with pytest.raises(InputError, match=r"not fetched \(FileNotFoundError"):
        fetch_from_store(f"{web}/no.gguf", cache=cache)
