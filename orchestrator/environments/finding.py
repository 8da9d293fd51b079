"""Finds the environment of a candidate: the one its study names, an installed one, or our own."""

import sys
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from adapters.protocol import Build, EngineAdapter
from adapters.registry import GROUP
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.errors import InputError
from orchestrator.domain.study import EngineChoice
from orchestrator.environments.asking import ask_interpreter
from orchestrator.environments.folder import Stamp, interpreter_of, stamps
from orchestrator.environments.requirements import are_met


class MissingEnvironmentError(InputError):
    """The engine, or this version of it, is not installed here; `command` installs it."""

    def __init__(self, engine: str, version: str | None) -> None:
        what = f"{engine} {version}" if version is not None else engine
        self.command = f"seatrial engines install {engine}" + (f" --version {version}" if version is not None else "")
        super().__init__(f"engine {what} is not installed here; to install it: {self.command}")


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
        return _at_path(adapter, named.path, wanted=choice.version)
    if named is not None and named.image is not None:
        return EngineEnvironment("image", version=choice.version, runtime_env={"image_uri": named.image})
    if named is not None and named.runtime_env is not None:
        return EngineEnvironment("runtime_env", version=choice.version, runtime_env=named.runtime_env)
    if not adapter.environment.builds:
        return _part_of_ours(adapter, choice.version)
    found = _installed(adapter, choice.version) or _own(adapter, choice.version)
    if found is None:
        raise MissingEnvironmentError(adapter.name, choice.version)
    return found


def _verified(adapter: EngineAdapter, found: str | None) -> bool:
    return adapter.environment.is_tried and found in adapter.environment.verified


def _part_of_ours(adapter: EngineAdapter, wanted: str | None) -> EngineEnvironment:
    """Return our own environment for an engine that needs none: its version is that of what brings its adapter."""
    plugin = next((point.dist for point in entry_points(group=GROUP, name=adapter.name) if point.dist), None)
    found, owner = (plugin.version, plugin.name) if plugin is not None else (version("seatrial"), "seatrial")
    if wanted not in {None, found}:
        raise InputError(f"engine {adapter.name} is part of {owner} {found}; seen version {wanted}; leave it out")
    known = plugin is None or _verified(adapter, found)
    return EngineEnvironment("own", version=found, interpreter=Path(sys.executable), is_verified=known)


def _installed(adapter: EngineAdapter, wanted: str | None) -> EngineEnvironment | None:
    """Return an environment that Seatrial made; of two builds of one version that for GPUs, made where there is one."""
    pinned = {build.version for build in adapter.environment.builds}
    versions = {wanted} if wanted is not None else pinned
    found = [one for one in installed_environments(adapter.name) if one.stamp.version in versions]
    if not found:
        return None
    place, stamp = next((one for one in found if one.stamp.needs == "cuda"), found[0])
    known = _verified(adapter, stamp.version)
    return EngineEnvironment("installed", version=stamp.version, interpreter=interpreter_of(place), is_verified=known)


def _own(adapter: EngineAdapter, wanted: str | None) -> EngineEnvironment | None:
    module = adapter.environment.module
    if module is None or find_spec(module) is None:
        return None
    found = next((one for build in adapter.environment.builds if (one := _version_here(build))), None)
    if found is None or wanted not in {None, found}:
        return None
    return EngineEnvironment(
        "own", version=found, interpreter=Path(sys.executable), is_verified=_verified(adapter, found)
    )


def _at_path(adapter: EngineAdapter, path: Path, *, wanted: str | None) -> EngineEnvironment:
    place = path.expanduser().absolute()  # not resolved: a virtual environment's interpreter is a link
    interpreter = interpreter_of(place) if place.is_dir() else place
    names = [build.distribution for build in adapter.environment.builds]
    module = adapter.environment.module
    try:
        found = ask_interpreter(interpreter, module, names)
    except LookupError as error:
        what = f"that has {module}" if module is not None else "that runs"
        raise InputError(
            f"environment.path {path}: expected a virtual environment or interpreter {what}; seen: {error}"
        ) from error
    if wanted not in {None, found}:
        raise InputError(f"environment.path {path}: expected {adapter.name} {wanted}; seen {found or 'no version'}")
    return EngineEnvironment("path", version=found, interpreter=interpreter, is_verified=_verified(adapter, found))


def _version_here(build: Build) -> str | None:
    try:
        found = version(build.distribution)
    except PackageNotFoundError:
        return None
    return found if are_met(build.requirements) else None
