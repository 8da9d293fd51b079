"""The peers' own environments: made once each, in the user's cache. Nothing of a peer is installed beside us."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

from orchestrator.environments.folder import engines_folder, interpreter_of, stamps

STAMP = "installed"
INSTALL_LIMIT_S = 900
CPU_TORCH = "torch==2.13.0+cpu"  # only that GuideLLM does not pull in CUDA's build, 5 GB
SAID_LINES = 4


class PeerError(Exception):
    """A peer cannot be installed or run; the text says why and stands in the result."""


def install(distribution: str, version: str, *, beside: tuple[str, ...] = ()) -> Path:
    """Make a peer's environment where there is none and return its interpreter.

    Raises:
        PeerError: its packages cannot be had; with the last lines of what uv said.
    """
    place = engines_folder().parent / "peers" / f"{distribution}-{version}"
    if not (place / STAMP).exists():
        shutil.rmtree(place, ignore_errors=True)
        _uv("venv", "--quiet", "--python", sys.executable, str(place))
        wanted = ["pip", "install", "--quiet", "--python", str(interpreter_of(place)), f"{distribution}=={version}"]
        try:
            _uv(*wanted, *beside)
        except PeerError:
            if not beside:
                raise
            _uv(*wanted, "--torch-backend", "cpu")  # the CPU build of PyTorch is not on PyPI, uv knows its index
        (place / STAMP).touch()
    return interpreter_of(place)


def find_vllm() -> tuple[Path, str]:
    """Return interpreter and version of the vLLM that `seatrial engines install vllm` made.

    Raises:
        PeerError: there is none.
    """
    found = stamps("vllm")
    if not found:
        raise PeerError("no vLLM environment here; make one with: seatrial engines install vllm")
    place, stamp = list(found.items())[-1]
    return interpreter_of(place), stamp.version


def _uv(*arguments: str) -> None:
    # uv does not read pip's setting of the same meaning.
    env = {**os.environ, "UV_FIND_LINKS": os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS", "")}
    try:
        done = subprocess.run(
            [find_uv_bin(), *arguments],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"uv {' '.join(arguments[:2])}: {error}") from error
    if done.returncode:
        said = " / ".join(done.stderr.strip().splitlines()[-SAID_LINES:])
        raise PeerError(f"uv {' '.join(arguments[:2])} failed: {said}")
