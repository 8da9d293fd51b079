"""The child program, run over a package that stands in for the engine and prints what it was given."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.samples import sample_model
from adapters.trtllm.adapter import PROGRAM, TrtllmAdapter
from adapters.trtllm.config import TrtllmConfig
from adapters.trtllm.failures import classify
from adapters.trtllm.options import options

STAND_IN = """
import json, os, sys
flag, _, path = sys.argv[-1].partition("=")
with open(path) as file:
    text = file.read()
print(json.dumps({"argv": sys.argv[1:-1], "flag": flag, "text": text, "pid": os.getpid()}))
"""
CONFIG = TrtllmConfig(max_batch_size=64, use_cuda_graph=False, enable_chunked_prefill=True)


@pytest.fixture
def engine(tmp_path: Path) -> dict[str, str]:
    commands = tmp_path / "tensorrt_llm" / "commands"
    commands.mkdir(parents=True)
    for folder in (commands.parent, commands):
        (folder / "__init__.py").touch()
    (commands / "serve.py").write_text(STAND_IN)
    metadata = tmp_path / "tensorrt_llm-1.2.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorrt-llm\nVersion: 1.2.1\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def command(config: TrtllmConfig) -> list[str]:
    plan = TrtllmAdapter().launch_plan(config, sample_model("hf"), ports={"http": 8080})
    return [sys.executable, *plan.argv[1:]]


def test_the_engine_gets_its_own_command_line_and_the_options_as_a_file(engine: dict[str, str]) -> None:
    with subprocess.Popen(command(CONFIG), env=engine, stdout=subprocess.PIPE, text=True) as process:
        told, seen = (json.loads(line) for line in process.communicate(timeout=30)[0].splitlines())
    assert process.returncode == 0
    assert told == {"engine": "trtllm", "version": "1.2.1", "settings": options(CONFIG)}
    assert seen["argv"] == [
        "serve",
        "models/sample",
        "--host=127.0.0.1",
        "--port=8080",
        "--max_batch_size=64",
        "--enable_chunked_prefill",
    ]
    assert seen["flag"] == "--extra_llm_api_options"
    assert json.loads(seen["text"]) == options(CONFIG)
    assert seen["pid"] == process.pid, (
        "the program must become the engine, so that a supervisor holds the engine itself"
    )


def test_the_file_reads_as_yaml_too() -> None:
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(json.dumps(options(CONFIG))) == options(CONFIG)


def test_an_interpreter_without_the_engine_says_so() -> None:
    done = subprocess.run(command(CONFIG), capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert classify(done.stderr).value == "missing_package"


def test_options_that_are_no_json_are_a_bad_flag() -> None:
    words = [sys.executable, str(PROGRAM), "--options", "{", "--", "serve"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert classify(done.stderr).value == "bad_flag"
