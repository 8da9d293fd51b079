"""MII's adapter keeps the rules of every adapter; its programs need nothing but themselves and the engine."""

import ast
import sys
from pathlib import Path

import pytest

from adapters.conformance import AdapterConformance
from adapters.mii.adapter import PROGRAM, MiiAdapter
from adapters.mii.config import OURS, MiiConfig
from adapters.mii.settings import PORT_NAMES
from adapters.protocol import Hardware
from adapters.samples import sample_model
from tests.contracts.transcripts import read_transcripts

MODEL = sample_model("hf", weights_precision="f16")
EVERYTHING = MiiConfig(
    tp=3,
    pp=2,
    min_context_tokens=512,
    replica_num=2,
    max_length=4096,
    quantization_mode="wf6af16",
    max_tracked_sequences=256,
    max_ragged_batch_size=1024,
    max_ragged_sequence_count=64,
    max_context=4096,
    memory_config_mode="allocate",
    memory_config_size=500,
    profile_model_time=True,
    sync_debug=True,
)


class TestMiiAdapter(AdapterConformance):
    adapter = MiiAdapter()
    model = MODEL
    hardware = Hardware(cpu_count=16, memory_bytes=1 << 36, gpu_names=("A100",) * 8, gpu_memory_bytes=(1 << 36,) * 8)
    examples = (EVERYTHING, MiiConfig(replica_num=2), MiiConfig(max_ragged_batch_size=256))
    not_passed = OURS
    transcripts = read_transcripts("mii")


def test_the_example_sets_every_field() -> None:
    default = MiiConfig()
    assert [name for name in MiiConfig.model_fields if getattr(EVERYTHING, name) == getattr(default, name)] == []


@pytest.mark.parametrize("program", [PROGRAM, PROGRAM.with_name("http_layer.py")], ids=lambda path: path.name)
def test_the_programs_import_the_standard_library_and_the_engine_only(program: Path) -> None:
    tree = ast.parse(program.read_text(encoding="utf-8"))
    plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    parts = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in (*plain, *parts)} - sys.stdlib_module_names == {"mii"}


def test_no_key_is_on_the_command_line() -> None:
    ports = {name: 8080 + index for index, name in enumerate(PORT_NAMES)}
    argv = MiiAdapter().launch_plan(MiiConfig(), MODEL, ports=ports).argv
    assert [word for word in argv if "key" in word.lower()] == []
