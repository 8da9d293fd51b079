"""Weights on S3, spoken to over HTTP: moto's server stands in for the service."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from orchestrator.domain.errors import InputError
from orchestrator.domain.study import ModelChoice
from orchestrator.models import ensure_here, resolve
from orchestrator.models.remote import RemoteWeights
from tests.unit.models.tiny_weights import draw_llama, write_folder, write_llama_gguf

boto3 = pytest.importorskip("boto3", reason="needs the s3 extra")
SECRET = "not-to-be-seen"  # noqa: S105 - what must not be seen


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def origin(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of weights and a GGUF, in the bucket `weights` too; the environment has what the client needs."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    folder = write_folder(tmp_path / "x", draw_llama(), files=2)
    sha256 = hashlib.sha256((folder / "model-0.safetensors").read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{sha256}  model-0.safetensors\n")
    client = boto3.client("s3")
    client.create_bucket(Bucket="weights")
    for file in folder.iterdir():
        client.upload_file(str(file), "weights", f"models/x/{file.name}")
    client.upload_file(str(write_llama_gguf(tmp_path / "x.gguf", draw_llama())), "weights", "x.gguf")
    return folder


def test_a_folder_on_s3_is_copied_once_with_what_is_proved_of_it(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = resolve("mine", "any", uri="s3://weights/models/x", cache=tmp_path / "cache")
    expected = resolve("mine", "any", path=origin, cache=tmp_path / "other")
    assert (ref.weights_sha256, ref.checkpoint_digest) == (expected.weights_sha256, expected.checkpoint_digest)
    assert ref.source.endswith(
        "config.json, model-1.safetensors: size as listed, MD5 equal to the store's ETag; "
        "model-0.safetensors: size as listed, sha256 as in SHA256SUMS beside the weights"
    )
    monkeypatch.setattr(RemoteWeights, "copy", lambda *_arguments: pytest.fail("copied twice"))
    assert resolve("mine", "any", uri="s3://weights/models/x", cache=tmp_path / "cache") == ref


def test_an_object_uploaded_in_parts_has_an_etag_that_proves_nothing(origin: Path, tmp_path: Path) -> None:
    client = boto3.client("s3")
    target = {"Bucket": "weights", "Key": "parts/x.gguf"}
    upload = client.create_multipart_upload(**target)["UploadId"]
    body = (origin.parent / "x.gguf").read_bytes()
    part = client.upload_part(**target, UploadId=upload, PartNumber=1, Body=body)
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    client.complete_multipart_upload(**target, UploadId=upload, MultipartUpload=parts)
    whole = resolve("mine", "any", uri="s3://weights/x.gguf", cache=tmp_path / "cache")
    pieces = resolve("mine", "any", uri="s3://weights/parts/x.gguf", cache=tmp_path / "cache")
    assert whole.source.endswith("x.gguf: size as listed, MD5 equal to the store's ETag")
    assert pieces.source.endswith("x.gguf: size as listed, content not proved")
    assert pieces.weights_sha256 == whole.weights_sha256


@pytest.mark.usefixtures("origin")
def test_another_node_copies_the_same_weights_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = ModelChoice(name="mine", uri="s3://weights/models/x")
    driver = resolve(choice.name, "any", uri=choice.uri, cache=tmp_path / "driver")
    driver.path.rename(tmp_path / "gone")
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path / "node"))
    here = ensure_here(driver, choice)
    assert here.path.is_relative_to(tmp_path / "node")
    assert here.weights_sha256 == driver.weights_sha256


@pytest.mark.usefixtures("origin")
def test_credentials_of_the_environment_are_in_no_file_and_no_source(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ref = resolve("mine", "any", uri="s3://weights/models/x", cache=tmp_path / "cache")
    written = b"".join(one.read_bytes() for one in (tmp_path / "cache").rglob("*") if one.is_file())
    assert SECRET not in ref.source + caplog.text
    assert SECRET.encode() not in written


@pytest.mark.usefixtures("origin")
def test_a_store_that_is_not_there_is_said_with_what_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"s3://nobody-made-this/x\.gguf: not fetched \("):
        resolve("mine", "any", uri="s3://nobody-made-this/x.gguf", cache=tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(InputError, match="the credentials in its environment") as caught:
        resolve("mine", "any", uri="s3://weights/models/x", cache=tmp_path)
    assert SECRET not in str(caught.value)
