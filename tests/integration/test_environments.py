"""`seatrial engines install` as a person uses it: real packages, a real uv, environments in a temporary cache."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters import registry
from adapters.protocol import Build
from orchestrator.domain.study import EngineChoice
from orchestrator.environments import find_environment
from orchestrator.environments.folder import STAMP, interpreter_of, place_of

ROOT = Path(__file__).resolve().parents[2]
OTHER_VERSION = "2026.9.11063"  # of the package index; any but the pinned one
TIMEOUT_S = 300


def engines(*arguments: str, cache: Path, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "orchestrator.cli", "engines", *arguments]
    env = {**os.environ, "SEATRIAL_CACHE": str(cache), "COLUMNS": "200", **environment}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    with process:
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == code, err
    return out, err


def version_in(interpreter: Path) -> str:
    code = "import xllamacpp, importlib.metadata as m; print(m.version('xllamacpp'))"
    return subprocess.run([interpreter, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def build() -> Build:
    (build,) = registry.get("llamacpp").environment.builds
    return build


@pytest.fixture(scope="module")
def installed(cache: Path) -> Path:
    out, err = ended(engines("install", "llamacpp", "--json", cache=cache))
    assert "installing xllamacpp" in err
    return Path(json.loads(out)["interpreter"])


@pytest.fixture
def found_in_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATRIAL_CACHE", str(cache))


def rows(cache: Path) -> Mapping[str, Mapping[str, object]]:
    return {row["name"]: row for row in json.loads(ended(engines("list", "--json", cache=cache))[0])}


def test_its_interpreter_imports_the_engine(installed: Path, build: Build) -> None:
    assert version_in(installed) == build.version


def test_a_second_install_does_nothing(installed: Path, cache: Path) -> None:
    stamp = installed.parents[1] / STAMP
    before = stamp.stat().st_mtime_ns
    out, err = ended(engines("install", "llamacpp", "--json", cache=cache))
    assert "is there already" in err
    assert "installing" not in err
    assert json.loads(out)["interpreter"] == str(installed)
    assert stamp.stat().st_mtime_ns == before


def test_it_is_listed_and_checked(installed: Path, cache: Path, build: Build) -> None:
    row = rows(cache)["llamacpp"]
    assert (row["installed"], row["version"], row["verified"]) == (True, build.version, True)
    assert build.version in str(row["all_versions"])
    assert str(installed) not in ended(engines("check", "llamacpp", cache=cache))[1]


@pytest.mark.usefixtures("installed", "found_in_cache")
def test_two_versions_are_two_environments(cache: Path, build: Build) -> None:
    ended(engines("install", "llamacpp", "--version", OTHER_VERSION, cache=cache))
    adapter = registry.get("llamacpp")
    pinned, other = (
        find_environment(adapter, EngineChoice(name="llamacpp", version=version)) for version in (None, OTHER_VERSION)
    )
    assert (pinned.version, pinned.origin, pinned.is_verified) == (build.version, "installed", True)
    assert (other.version, other.origin, other.is_verified) == (OTHER_VERSION, "installed", False)
    assert pinned.interpreter is not None
    assert other.interpreter is not None
    assert [version_in(one) for one in (pinned.interpreter, other.interpreter)] == [build.version, OTHER_VERSION]


@pytest.mark.usefixtures("found_in_cache")
def test_a_study_may_name_it_by_path(installed: Path, build: Build) -> None:
    for path in (installed, installed.parents[1]):
        choice = EngineChoice.model_validate({"name": "llamacpp", "environment": {"path": str(path)}})
        found = find_environment(registry.get("llamacpp"), choice)
        assert (found.origin, found.version, found.interpreter) == ("path", build.version, installed)
        assert found.is_verified


@pytest.mark.parametrize("left", ["nothing of use", "everything but the stamp"])
def test_an_interrupted_install_is_made_anew(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path))
    place = place_of("llamacpp", build.version, build.needs)
    if left == "everything but the stamp":
        ended(engines("install", "llamacpp", cache=tmp_path))
        (place / STAMP).unlink()
    else:
        place.mkdir(parents=True)
    (place / "half").write_text("written")
    assert rows(tmp_path)["llamacpp"]["all_versions"] == []
    _, err = ended(engines("install", "llamacpp", cache=tmp_path))
    assert "installing" in err
    assert not (place / "half").exists()
    assert version_in(interpreter_of(place)) == build.version


def test_a_killed_install_is_made_anew(tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path))
    place = place_of("llamacpp", build.version, build.needs)
    with engines("install", "llamacpp", cache=tmp_path) as process:
        while not place.exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
        process.communicate()
    assert rows(tmp_path)["llamacpp"]["all_versions"] == []
    ended(engines("install", "llamacpp", cache=tmp_path))
    assert version_in(interpreter_of(place)) == build.version


def test_a_version_that_does_not_exist_is_said_by_uv_and_leaves_nothing(tmp_path: Path) -> None:
    _, err = ended(engines("install", "llamacpp", "--version", "9999.1", cache=tmp_path), code=2)
    assert "error: uv pip install failed" in err
    assert "no version of xllamacpp==9999.1" in err
    assert [one.name for one in (tmp_path / "engines").glob("[!.]*")] == []


def test_two_installs_at_one_time_both_end_well(tmp_path: Path, build: Build) -> None:
    both = [engines("install", "llamacpp", "--json", cache=tmp_path) for _ in range(2)]
    results = [ended(process) for process in both]
    (interpreter,) = {json.loads(out)["interpreter"] for out, _ in results}
    assert version_in(Path(interpreter)) == build.version
    said = "".join(err for _, err in results)
    assert (said.count("installing xllamacpp"), said.count("is there already")) == (1, 1)


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    _, err = ended(engines("install", "llamacpp", cache=tmp_path / "file"), code=2)
    assert "cannot keep environments in" in err
    assert "SEATRIAL_CACHE" in err


def test_a_version_that_is_not_installed_comes_with_its_command(tmp_path: Path) -> None:
    _, err = ended(engines("check", "llamacpp", "--version", "1.2", cache=tmp_path), code=2)
    command = "seatrial engines install llamacpp --version 1.2"
    assert err.splitlines() == [f"error: engine llamacpp 1.2 is not installed here; to install it: {command}"]


def test_an_engine_of_ours_needs_no_install(tmp_path: Path) -> None:
    _, err = ended(engines("install", "simulated", cache=tmp_path), code=2)
    assert "simulated needs no environment" in err
