"""An adapter of somebody else, really installed: found, checked by the published suite, and measured by a study."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from uv import find_uv_bin

from adapters import registry

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300
PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{distribution}"
version = "0.7"

[project.entry-points."seatrial.adapters"]
{engine} = "{module}:{attribute}"

[tool.setuptools]
py-modules = ["{distribution}"]
"""
MODULE = """
from adapters.protocol import Capabilities, EngineConfig, Environment, LaunchPlan, ServerMetric, StartFailure, Violation
from adapters.simulated.adapter import PROGRAM


class EchoConfig(EngineConfig):
    first_token_s: float = 0.02
    slots: int | None = None


class EchoAdapter:
    name = "echo"
    config_type = EchoConfig
    capabilities = Capabilities(output_length_control="ignore_eos", is_simulated=True, formats=("none", "hf"))
    environment = Environment(builds=(), module=None, hardware="any", licence="MIT", verified=("0.7",))

    def check(self, config, model, hardware):
        return [Violation("slots", config.slots, "at least 1")] if config.slots == 0 else []

    def launch_plan(self, config, model, *, ports):
        argv = ("python", str(PROGRAM), f"--port={ports['http']}", f"--model={model.name}")
        flags = [f"--ttft-s={config.first_token_s}"]
        if config.slots is not None:
            flags.append(f"--max-running={config.slots}")
        return LaunchPlan(argv=(*argv, *flags), ports={"http": ports["http"]}, served_model=model.name)

    def port_names(self):
        return ("http",)

    def server_metrics(self):
        return {"simulated_requests_running": ServerMetric("engine_requests_running", "requests", "gauge")}

    def classify_failure(self, log_tail):
        return StartFailure.PORT_TAKEN if "address already in use" in log_tail.lower() else StartFailure.UNKNOWN
"""
CONFORMANCE = """
from adapters.conformance import AdapterConformance
from adapters.protocol import Hardware
from adapters.samples import sample_model
from seatrial_echo import EchoAdapter, EchoConfig


class TestEcho(AdapterConformance):
    adapter = EchoAdapter()
    model = sample_model("hf")
    hardware = Hardware(cpu_count=2, memory_bytes=1 << 34)
    examples = (EchoConfig(first_token_s=0.5), EchoConfig(slots=3), EchoConfig(slots=0))
"""
STUDY: dict[str, Any] = {
    "name": "plugin",
    "model": {"name": "none", "variant": "none"},
    "engines": [{"name": "echo", "search": {"slots": [2, 4]}}],
    "workload": {"source": {"kind": "fixed", "input_tokens": 8, "output_tokens": 4}},
    "load": {"rates_rps": [10]},
    "window": {"warmup_s": 0.2, "measure_s": 1.0, "drain_s": 5},
    "slo": {"ttft_s": 1},
    "budget": {"trials": 2, "max_retries": 0},
    "deploy": {"deployer": "local"},
}


def install(folder: Path, distribution: str, *, engine: str, attribute: str, module: str = "", code: str = "") -> Path:
    """Build a distribution with one module and one entry point, and install it into a folder of its own."""
    source, target = folder / f"{distribution}-source", folder / distribution
    source.mkdir()
    facts = {"distribution": distribution, "engine": engine, "module": module or distribution, "attribute": attribute}
    (source / "pyproject.toml").write_text(PROJECT.format(**facts))
    (source / f"{distribution}.py").write_text(code)
    env = {**os.environ, "UV_FIND_LINKS": os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS", "")}
    command = [find_uv_bin(), "pip", "install", "--quiet", "--python", sys.executable, "--target", target, source]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    return install(folder, "seatrial_echo", engine="echo", attribute="EchoAdapter", code=MODULE)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    return install(folder, "seatrial_broken", engine="broken", attribute="Adapter", code="import no_such_engine\n")


def python(*arguments: str, plugins: tuple[Path, ...], code: int = 0) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, (*plugins, ROOT)))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "MLFLOW_TRACKING_URI": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def seatrial(*arguments: str, plugins: tuple[Path, ...], code: int = 0) -> subprocess.CompletedProcess[str]:
    return python("-m", "orchestrator.cli", *arguments, plugins=plugins, code=code)


def study_file(folder: Path, engines: list[dict[str, Any]]) -> str:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"engines": engines}), encoding="utf-8")
    return str(path)


def test_it_is_listed_and_a_broken_one_beside_it_is_skipped_with_a_message(echo: Path, broken: Path) -> None:
    done = seatrial("engines", "list", "--json", plugins=(echo, broken))
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert set(rows) == {*registry.BUILT_IN, "echo"}
    row = rows["echo"]
    assert (row["installed"], row["version"], row["verified"], row["licence"]) == (True, "0.7", True, "MIT")
    assert "engine plug-in 'broken' (seatrial_broken:Adapter) does not load and is skipped" in done.stderr
    assert "no_such_engine" in done.stderr


def test_a_broken_one_asked_for_by_name_says_so(broken: Path) -> None:
    done = seatrial("engines", "check", "broken", plugins=(broken,), code=2)
    assert "engine 'broken' does not load: repair or remove the plug-in" in done.stderr


def test_a_study_measures_it_over_flags_of_its_own(echo: Path, broken: Path, tmp_path: Path) -> None:
    path = study_file(tmp_path, [{"name": "echo", "search": {"slots": [2, 4]}}])
    done = seatrial("run", path, "--store", str(tmp_path / "store"), "--json", plugins=(echo, broken))
    seen = json.loads(done.stdout)
    assert [(one["engine"], one["outcome"]) for one in seen["trials"]] == [("echo", "completed")] * 2
    assert seen["trials"][0]["assignment"] == {}
    assert seen["trials"][1]["assignment"]["slots"] in {2, 4}
    assert seen["versions"]["echo"] == "0.7"
    for one in seen["trials"]:
        (measurement,) = one["measurements"]
        assert measurement["num_failed"] == 0
        assert measurement["ttft_s"]["mean"] >= 0.02


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({"slot": [2]}, "slot: echo has no such flag; it has tp, pp, first_token_s, slots; did you mean 'slots'?"),
        ({"slots": ["many"]}, "seen 'many'"),
        ({"slots": []}, "engines.0.search: slots: "),
    ],
)
def test_a_search_that_it_cannot_have_is_refused(
    echo: Path, tmp_path: Path, search: dict[str, Any], expected: str
) -> None:
    path = study_file(tmp_path, [{"name": "echo", "search": search}])
    done = seatrial("plan", path, plugins=(echo,), code=2)
    assert expected in done.stderr
    assert done.stdout == ""


def test_the_published_suite_judges_it(echo: Path, tmp_path: Path) -> None:
    file = tmp_path / "test_echo.py"
    file.write_text(CONFORMANCE)
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={tmp_path}", str(file))
    assert " passed" in python(*arguments, plugins=(echo,)).stdout
    file.write_text(CONFORMANCE.replace("EchoConfig(slots=3)", "EchoConfig(tp=2)"))  # which it passes to nobody
    assert "tp=2 must change argv or env" in python(*arguments, plugins=(echo,), code=1).stdout


def test_a_name_that_is_taken_is_refused(echo: Path, tmp_path: Path) -> None:
    taken = install(tmp_path, "seatrial_taken", engine="llamacpp", attribute="EchoAdapter", module="seatrial_echo")
    done = seatrial("engines", "list", plugins=(echo, taken), code=2)
    assert done.stderr == "error: engine 'llamacpp' is claimed twice; the second is 'seatrial_echo:EchoAdapter'\n"
