"""Makes an engine's virtual environment with uv, once: locked where we have a lock, resolved where not.

An install that was interrupted goes on where uv's cache is: the folder is made anew, the downloads are there.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from filelock import FileLock, Timeout
from uv import find_uv_bin

from adapters.protocol import Build, EngineAdapter, Hardware
from orchestrator.domain.errors import InputError
from orchestrator.environments.folder import STAMP, Stamp, engines_folder, interpreter_of, place_of, read_stamp

LOCKS = files("adapters") / "environments"
NEVER = 'sys_platform == "never"'
A_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]*")  # it becomes part of a folder's name


def choose_build(adapter: EngineAdapter, hardware: Hardware) -> Build:
    """Return the build for this machine: CUDA's where there is a GPU and such a build, else the first.

    Raises:
        InputError: the engine is part of Seatrial, there is nothing to install.
    """
    builds = adapter.environment.builds
    if not builds:
        raise InputError(f"engine {adapter.name} needs no environment: it is part of seatrial")
    return next((one for one in builds if one.needs == "cuda" and hardware.has_cuda), builds[0])


def install(adapter: EngineAdapter, hardware: Hardware, *, version: str | None, say: Callable[[str], None]) -> Path:
    """Make the environment of an engine's version, the pinned one where None, and return its interpreter.

    Raises:
        InputError: the engine needs none, or the packages cannot be had; with the last lines of what uv said.
    """
    build = choose_build(adapter, hardware)
    wanted = version or build.version
    if not A_VERSION.fullmatch(wanted):
        raise InputError(f"--version: expected a version such as {build.version}, seen {wanted!r}")
    place = place_of(adapter.name, wanted, build.needs)
    lock = _lock_of(build, wanted)
    digest = hashlib.sha256(lock.read_bytes()).hexdigest() if lock is not None else None
    with _held(place, say):
        stamp = read_stamp(place)
        if stamp is not None and stamp.lock_sha256 == digest:
            say(f"{adapter.name} {wanted} is there already")
            return interpreter_of(place)
        say(f"installing {build.distribution} {wanted} into {place}")
        _make(place, build, wanted, lock=lock)
        stamp = Stamp(
            engine=adapter.name, distribution=build.distribution, version=wanted, needs=build.needs, lock_sha256=digest
        )
        (place / STAMP).write_text(stamp.model_dump_json(indent=1), encoding="utf-8")
    return interpreter_of(place)


@contextmanager
def _held(place: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the folder of one environment: one install at a time, others wait for it."""
    lock = FileLock(place.with_name(f".{place.name}.lock"))
    try:
        engines_folder().mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            say(f"another install into {place} is going on; waiting for it")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()
    except OSError as error:
        raise InputError(
            f"cannot keep environments in {engines_folder()}: {error}; free some space there or name another folder "
            "with SEATRIAL_CACHE"
        ) from error


def _make(place: Path, build: Build, version: str, *, lock: Path | None) -> None:
    """Make an environment anew; nothing is left of one whose packages cannot be had."""
    (place / STAMP).unlink(missing_ok=True)
    if place.exists():  # uv clears only what it takes for an environment, which half of one need not be
        shutil.rmtree(place)
    _uv(["venv", "--quiet", "--python", sys.executable, str(place)])
    try:
        _install_packages(build, version, lock=lock, place=place)
    except InputError:
        shutil.rmtree(place)
        raise


def _lock_of(build: Build, version: str) -> Path | None:
    """Return the lock of a build's pinned version; another version has none."""
    if build.lock is None or version != build.version:
        return None
    return Path(str(LOCKS / build.lock))


def _install_packages(build: Build, version: str, *, lock: Path | None, place: Path) -> None:
    command = ["pip", "install", "--quiet", "--compile-bytecode", "--python", str(interpreter_of(place))]
    if lock is not None:
        command += ["--no-deps", "-r", str(lock)]
    else:
        command += [f"{build.distribution}=={version}", *build.requirements, *_left_out(build, place)]
    try:
        _uv(command)
    except InputError:
        if build.needs != "cpu":
            raise
        _uv([*command, "--torch-backend", "cpu"])  # the CPU build of PyTorch is not on PyPI, uv knows its index


def _left_out(build: Build, place: Path) -> list[str]:
    if not build.leave_out:
        return []
    overrides = place / "overrides.txt"
    overrides.write_text("".join(f"{name} ; {NEVER}\n" for name in build.leave_out), encoding="utf-8")
    return ["--overrides", str(overrides)]


def _uv(arguments: Sequence[str]) -> None:
    # uv does not read pip's setting of the same meaning.
    env = {**os.environ, "UV_FIND_LINKS": os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS", "")}
    done = subprocess.run([find_uv_bin(), *arguments], env=env, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    if done.returncode:
        tail = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise InputError(f"uv {' '.join(arguments[:2])} failed:\n{tail}")
