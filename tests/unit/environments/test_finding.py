"""Where a candidate runs: what its study names, what is installed, or ours; else the command that installs it."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters import registry
from adapters.protocol import EngineAdapter
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.errors import InputError
from orchestrator.domain.study import EngineChoice
from orchestrator.environments import MissingEnvironmentError, find_environment, finding
from orchestrator.environments.folder import interpreter_of
from tests.unit.environments.installed import put_environment

PINNED = registry.get("sglang").environment.builds[0].version
VLLM_PINNED = registry.get("vllm").environment.builds[0].version


def find(engine: str, **choice: Any) -> EngineEnvironment:
    return find_environment(registry.get(engine), EngineChoice.model_validate({"name": engine, **choice}))


def test_the_pinned_version_is_taken_among_others_unverified_while_nobody_ran_the_engine() -> None:
    put_environment("sglang", "0.0.1", "cuda")
    place = put_environment("sglang", PINNED, "cuda")
    put_environment("sglang", "99.0", "cuda")
    assert find("sglang") == EngineEnvironment(
        "installed", version=PINNED, interpreter=interpreter_of(place), is_verified=False
    )


def test_the_pinned_version_of_an_engine_that_was_run_is_verified() -> None:
    put_environment("vllm", VLLM_PINNED, "cpu")
    assert find("vllm").is_verified


def test_another_version_runs_unverified() -> None:
    place = put_environment("sglang", "99.0", "cuda")
    found = find("sglang", version="99.0")
    assert (found.version, found.interpreter, found.is_verified) == ("99.0", interpreter_of(place), False)
    assert found.facts()["engine.version_verified"] == "no"


def test_another_version_is_not_taken_for_the_pinned_one() -> None:
    put_environment("sglang", "99.0", "cuda")
    with pytest.raises(MissingEnvironmentError, match=r"sglang is not installed.*: seatrial engines install sglang$"):
        find("sglang")


def test_what_is_missing_comes_with_the_command_that_installs_it() -> None:
    with pytest.raises(MissingEnvironmentError, match=r"sglang 9\.9 .*engines install sglang --version 9\.9$") as seen:
        find("sglang", version="9.9")
    assert seen.value.command == "seatrial engines install sglang --version 9.9"


def test_of_two_builds_of_one_version_that_for_gpus_is_taken() -> None:
    version = registry.get("vllm").environment.builds[0].version
    put_environment("vllm", version, "cpu")
    place = put_environment("vllm", version, "cuda")
    assert find("vllm").interpreter == interpreter_of(place)


def test_an_installed_environment_goes_before_ours() -> None:
    version = registry.get("llamacpp").environment.builds[0].version
    place = put_environment("llamacpp", version)
    assert find("llamacpp").interpreter == interpreter_of(place)


def test_ours_is_not_taken_where_the_engines_server_lacks_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "find_spec", lambda _: object())
    monkeypatch.setattr(finding, "version", lambda _: PINNED)
    assert find("sglang").origin == "own"
    monkeypatch.setattr(finding, "are_met", lambda _: False)
    with pytest.raises(MissingEnvironmentError):
        find("sglang")


def test_an_engine_of_ours_has_our_version() -> None:
    found = find("simulated")
    assert (found.origin, found.is_verified, found.interpreter) == ("own", True, Path(sys.executable))
    with pytest.raises(InputError, match=r"simulated is part of seatrial .*; seen version 9\.9"):
        find("simulated", version="9.9")


@pytest.mark.parametrize(
    ("environment", "origin", "runtime_env"),
    [
        ({"image": "registry/engine:1"}, "image", {"image_uri": "registry/engine:1"}),
        ({"runtime_env": {"pip": ["sglang"]}}, "runtime_env", {"pip": ["sglang"]}),
    ],
)
def test_an_image_or_a_runtime_environment_is_passed_on(
    environment: dict[str, Any], origin: str, runtime_env: Mapping[str, Any]
) -> None:
    found = find("sglang", environment=environment)
    assert (found.origin, found.version, found.interpreter, found.is_verified) == (origin, None, None, False)
    assert found.runtime_env == runtime_env
    assert find("sglang", environment=environment, version="1.2").version == "1.2"


def importing(module: str, distribution: str) -> EngineAdapter:
    """An adapter of an engine that every environment of tests has."""
    adapter = registry.get("sglang")
    (build,) = adapter.environment.builds
    environment = replace(adapter.environment, module=module, builds=(replace(build, distribution=distribution),))
    return type("Changed", (type(adapter),), {"environment": environment})()


@pytest.mark.parametrize("path", [Path(sys.executable), Path(sys.prefix)], ids=["interpreter", "folder"])
def test_a_path_may_be_an_interpreter_or_a_folder(path: Path) -> None:
    choice = EngineChoice.model_validate({"name": "sglang", "environment": {"path": str(path)}})
    found = find_environment(importing("pytest", "pytest"), choice)
    assert (found.origin, found.version) == ("path", pytest.__version__)
    assert found.interpreter is not None
    assert found.interpreter.is_absolute()


def test_a_path_may_begin_at_home_or_here(monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = Path(sys.prefix)
    monkeypatch.setenv("HOME", str(prefix.parent))
    monkeypatch.chdir(prefix.parent)
    for path in (f"~/{prefix.name}", prefix.name):
        choice = EngineChoice.model_validate({"name": "sglang", "environment": {"path": path}})
        assert find_environment(importing("pytest", "pytest"), choice).interpreter == interpreter_of(prefix)


def test_a_path_must_have_the_version_that_the_study_asks_for() -> None:
    choice = EngineChoice.model_validate({"name": "sglang", "version": "0.1", "environment": {"path": sys.prefix}})
    with pytest.raises(InputError, match=rf"expected sglang 0\.1; seen {pytest.__version__}"):
        find_environment(importing("pytest", "pytest"), choice)


@pytest.mark.parametrize(
    ("name", "seen"), [("nowhere", "No such file"), ("folder", "No such file"), ("file", "Permission denied")]
)
def test_a_path_without_an_interpreter_is_refused(tmp_path: Path, name: str, seen: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("no program")
    with pytest.raises(
        InputError, match=rf"environment\.path .*{name}: expected a virtual environment.*seen: .*{seen}"
    ):
        find("sglang", environment={"path": str(tmp_path / name)})


def test_an_interpreter_without_the_engine_is_refused() -> None:
    with pytest.raises(InputError, match="that has sglang; seen: no module sglang"):
        find("sglang", environment={"path": sys.executable})
