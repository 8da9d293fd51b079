"""Finds the environment of a candidate: the one its study names, an installed one, or our own."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from adapters.protocol import EngineAdapter
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.errors import InputError
from orchestrator.domain.study import EngineChoice
from orchestrator.environments.folder import Stamp, interpreter_of, stamps

ASK_TIMEOUT_S = 60.0


class MissingEnvironmentError(InputError):
    """The engine, or this version of it, is not installed here."""


class Installed(NamedTuple):
    """An environment that Seatrial made."""

    place: Path
    stamp: Stamp


def installed_environments(engine: str | None = None) -> list[Installed]:
    """List the environments that Seatrial made here."""
    return [Installed(place, stamp) for place, stamp in stamps(engine).items()]


def find_environment(adapter: EngineAdapter, choice: EngineChoice) -> EngineEnvironment:
    """Return where a candidate runs.

    Raises:
        MissingEnvironmentError: nowhere; with the command that installs it.
        InputError: what the study names is no environment with this engine.
    """
    named = choice.environment
    if named is not None and named.path is not None:
        return _at_path(adapter, named.path)
    if named is not None and named.image is not None:
        return EngineEnvironment("image", version=choice.version, runtime_env={"image_uri": named.image})
    if named is not None and named.runtime_env is not None:
        return EngineEnvironment("runtime_env", version=choice.version, runtime_env=named.runtime_env)
    if not adapter.environment.builds:
        return EngineEnvironment("own", version=version("seatrial"), interpreter=Path(sys.executable), is_verified=True)
    return _installed(adapter, choice.version) or _own(adapter, choice.version) or _missing(adapter, choice.version)


def _verified(adapter: EngineAdapter, found: str | None) -> bool:
    return found in adapter.environment.verified


def _installed(adapter: EngineAdapter, wanted: str | None) -> EngineEnvironment | None:
    pinned = {build.version for build in adapter.environment.builds}
    versions = {wanted} if wanted is not None else pinned
    for place, stamp in installed_environments(adapter.name):
        if stamp.version in versions:
            known = _verified(adapter, stamp.version)
            return EngineEnvironment(
                "installed", version=stamp.version, interpreter=interpreter_of(place), is_verified=known
            )
    return None


def _own(adapter: EngineAdapter, wanted: str | None) -> EngineEnvironment | None:
    module = adapter.environment.module
    if module is None or find_spec(module) is None:
        return None
    found = next((one for build in adapter.environment.builds if (one := _version_here(build.distribution))), None)
    if found is None or wanted not in {None, found}:
        return None
    return EngineEnvironment(
        "own", version=found, interpreter=Path(sys.executable), is_verified=_verified(adapter, found)
    )


def _missing(adapter: EngineAdapter, wanted: str | None) -> EngineEnvironment:
    command = f"seatrial engines install {adapter.name}" + (f" --version {wanted}" if wanted is not None else "")
    what = f"{adapter.name} {wanted}" if wanted is not None else adapter.name
    raise MissingEnvironmentError(f"engine {what} is not installed here; to install it: {command}")


def _at_path(adapter: EngineAdapter, path: Path) -> EngineEnvironment:
    interpreter = interpreter_of(path) if path.is_dir() else path
    module, names = adapter.environment.module, [build.distribution for build in adapter.environment.builds]
    code = (
        "import importlib.metadata as m, importlib.util as u, sys\n"
        "module, *names = sys.argv[1:]\n"
        "assert u.find_spec(module), f'no module {module}'\n"
        "known = {d.metadata['Name']: d.version for d in m.distributions()}\n"
        "print(next((known[n] for n in names if n in known), ''))"
    )
    command = [str(interpreter), "-c", code, module or "sys", *names]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=True)  # noqa: S603 - the study's own interpreter
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        raise InputError(
            f"environment.path {path}: expected a virtual environment or interpreter that has {module}; "
            f"seen: {said[0] if said else error}"
        ) from error
    found = done.stdout.strip() or None
    return EngineEnvironment("path", version=found, interpreter=interpreter, is_verified=_verified(adapter, found))


def _version_here(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
