"""MII's own classes, launch and HTTP layer, as the adapter uses them; only the ranks, which need CUDA, are scripted."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from adapters.mii.adapter import MiiAdapter
from adapters.mii.config import OURS, MiiConfig
from adapters.mii.settings import PORT_NAMES, render_settings
from adapters.openai import Dialect, Route, StreamScanner, encode_request
from adapters.protocol import LaunchPlan, ModelRef
from adapters.samples import sample_model
from orchestrator.deploy.ports import is_listening
from search_spaces import load_space
from tests.engines.environments import interpreter_for
from tests.engines.mii_backend.server import (
    STOP_S,
    RunningMii,
    asking,
    await_http,
    await_log,
    is_well,
    running_mii,
    scripted_environment,
)

pytestmark = pytest.mark.engine

CLASSES = Path(__file__).parent / "mii_backend" / "classes.py"
STREAMS = Path(__file__).parents[1] / "golden" / "streams" / "mii"
CLASSES_S = 300.0
HANG_S = 5.0
PORTS = {name: 8080 + index for index, name in enumerate(PORT_NAMES)}
STATE = ("inference_engine_config", "state_manager")
PLACES = {  # where MII keeps each setting, under `model_conf`
    "tp": ("tensor_parallel",),
    "max_tracked_sequences": (*STATE, "max_tracked_sequences"),
    "max_ragged_batch_size": (*STATE, "max_ragged_batch_size"),
    "max_ragged_sequence_count": (*STATE, "max_ragged_sequence_count"),
    "max_context": (*STATE, "max_context"),
    "memory_config_mode": (*STATE, "memory_config", "mode"),
    "memory_config_size": (*STATE, "memory_config", "size"),
}


@pytest.fixture(scope="session")
def mii_python() -> Path:
    return interpreter_for("mii")


@pytest.fixture(scope="module")
def scripted_python(mii_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scripted_environment(mii_python, tmp_path_factory.mktemp("mii") / "environment")


@pytest.fixture(scope="module")
def mii(
    scripted_python: Path, smollm2_variants: dict[str, ModelRef], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningMii]:
    log = tmp_path_factory.mktemp("mii") / "engine.log"
    with running_mii(scripted_python, smollm2_variants["bf16-hf"], log, MiiConfig(max_context=2048)) as server:
        await_http(server)
        yield server


def candidates() -> list[MiiConfig]:
    """Return the default and one configuration for each value of the search space."""
    wide = {"max_tracked_sequences": 8192, "max_ragged_batch_size": 8192}
    narrow = {"max_ragged_sequence_count": 1}
    return [
        MiiConfig(),
        MiiConfig(memory_config_mode="allocate", memory_config_size=500, max_length=99, sync_debug=True),
        MiiConfig(quantization_mode="wf6af16", profile_model_time=True),
        *(
            MiiConfig.model_validate({**(wide if one.name == "max_ragged_sequence_count" else narrow), one.name: value})
            for one in load_space("mii").parameters
            for value in one.values
        ),
    ]


@pytest.fixture(scope="module")
def said(mii_python: Path) -> dict[str, Any]:
    """Return what MII's own classes said."""
    settings = [render_settings(config, sample_model("hf"), PORTS) for config in candidates()]
    done = subprocess.run(
        [str(mii_python), str(CLASSES)],
        input=json.dumps(settings),
        capture_output=True,
        text=True,
        timeout=CLASSES_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def read_back(resolved: dict[str, Any]) -> dict[str, Any]:
    """Return our fields as MII's resolved configuration has them."""
    fields = set(MiiConfig.model_fields) - OURS
    return {
        name: reduce(lambda part, key: part[key], PLACES.get(name, (name,)), resolved["model_conf"]) for name in fields
    }


def test_every_default_of_the_configuration_is_the_engines(said: dict[str, Any]) -> None:
    assert MiiConfig().model_dump(exclude=set(OURS)) == read_back(said["defaults"])


def test_the_engines_classes_take_every_setting_as_it_was_meant(said: dict[str, Any]) -> None:
    assert [read_back(one) for one in said["resolved"]] == [one.model_dump(exclude=set(OURS)) for one in candidates()]


def test_the_engines_classes_take_every_port_as_it_was_meant(said: dict[str, Any]) -> None:
    resolved = said["resolved"][0]
    (replica,) = resolved["model_conf"]["replica_configs"]
    assert resolved["port_number"] == PORTS["load_balancer"]
    assert replica["tensor_parallel_ports"] == [PORTS["rank"]]
    assert (replica["torch_dist_port"], replica["zmq_port"]) == (PORTS["torch"], PORTS["zmq"])
    assert not resolved["enable_restful_api"]


def test_the_engine_refuses_what_the_check_refuses(said: dict[str, Any]) -> None:
    assert "max_ragged_sequence_count must be less than max_ragged_batch_size" in said["too_many_sequences"]
    assert "no_such" in said["unknown_key"]


def test_the_engine_refuses_a_temperature_of_zero(said: dict[str, Any]) -> None:
    assert "greater than 0" in said["temperature_zero"]


def test_the_engines_least_tokens_do_not_control_the_length(said: dict[str, Any]) -> None:
    assert said["ends_before_its_least_tokens"]


def stream_body(server: RunningMii, word: str, route: Route) -> tuple[str, bytes]:
    dialect = Dialect(route, MiiAdapter.capabilities)
    return dialect.path, encode_request(word, server.plan.served_model, dialect=dialect, max_tokens=8, seed=1)


def record(server: RunningMii, word: str, route: Route) -> tuple[bytes, StreamScanner]:
    """Read a stream to its end, or until nothing comes any more."""
    path, body = stream_body(server, word, route)
    scanner, text = StreamScanner(sends_done=MiiAdapter.capabilities.sends_done), b""
    with asking(server, path, body, timeout_s=HANG_S) as answer:
        assert answer.status == 200
        try:
            while chunk := answer.read1(1 << 16):
                text += chunk
                scanner.feed(chunk, time.monotonic_ns())
        except TimeoutError:
            return text, scanner
    scanner.close(time.monotonic_ns())
    return text, scanner


def without_chance(text: bytes, server: RunningMii) -> str:
    """Replace what differs between two runs: ids and the model's folder."""
    return re.sub(r"cmpl-\w+", "cmpl-0", text.decode().replace(server.plan.served_model, "models/sample"))


@pytest.mark.parametrize(
    ("word", "route", "name"),
    [
        ("count", "completions", "completions-count"),
        ("count", "chat", "chat-count"),
        ("cut", "completions", "completions-length"),
        ("silent", "chat", "chat-silent"),
        ("break", "completions", "completions-cut"),
    ],
)
def test_its_streams_are_those_recorded(mii: RunningMii, word: str, route: Route, name: str) -> None:
    text, _ = record(mii, word, route)
    golden = STREAMS / f"{name}.sse"
    if os.environ.get("SEATRIAL_UPDATE_GOLDEN"):
        golden.write_text(without_chance(text, mii))
    assert without_chance(text, mii) == golden.read_text()


@pytest.mark.parametrize("route", ["completions", "chat"])
def test_a_stream_gives_its_first_token_its_gaps_and_its_end(mii: RunningMii, route: Route) -> None:
    _, scanner = record(mii, "count", route)
    assert scanner.output_tokens == 3
    assert scanner.finish_reason == "stop"
    assert scanner.usage is None
    assert scanner.may_end
    assert scanner.first_answer_ns == scanner.chunk_ns[0]
    assert scanner.chunk_ns[1] - scanner.chunk_ns[0] > 2e8  # two scripted gaps of 0.2 s: one has a chunk without text


@pytest.mark.parametrize("word", ["refuse", "break"])
def test_an_error_of_a_rank_leaves_the_stream_open_without_an_end(mii: RunningMii, word: str) -> None:
    text, scanner = record(mii, word, "completions")
    assert not scanner.may_end
    assert scanner.error is None
    assert b"[DONE]" not in text
    assert is_well(mii)


def test_greedy_reaches_the_engine_as_the_likeliest_token(mii: RunningMii) -> None:
    record(mii, "count", "completions")
    options = [line["options"] for line in mii.lines() if line.get("prompts") == ["count"]][-1]
    assert options["top_k"] == 1
    assert "temperature" not in options
    assert (options["ignore_eos"], options["max_new_tokens"]) == (False, 8)


def test_a_temperature_above_zero_is_left_alone(mii: RunningMii) -> None:
    body = {"model": mii.plan.served_model, "prompt": "cut", "temperature": 0.5}
    with asking(mii, "/v1/completions", body) as answer:
        assert json.loads(answer.read())["choices"][0]["text"] == "So far"
    options = [line["options"] for line in mii.lines() if line.get("prompts") == ["cut"]][-1]
    assert options["temperature"] == 0.5
    assert "top_k" not in options


@pytest.mark.parametrize(
    ("changes", "status"), [({"model": "another"}, 400), ({"prompt": [1, 2]}, 500), ({"prompt": "refuse"}, 500)]
)
def test_what_it_refuses_at_once_has_a_status(mii: RunningMii, changes: dict[str, object], status: int) -> None:
    with asking(mii, "/v1/completions", {"model": mii.plan.served_model, "prompt": "cut", **changes}) as answer:
        assert answer.status == status


def test_a_request_without_the_key_is_refused(mii: RunningMii) -> None:
    with asking(mii, "/v1/completions", {"model": mii.plan.served_model, "prompt": "cut"}, key="other") as answer:
        assert answer.status == 401


def test_it_says_which_build_runs_with_which_settings(mii: RunningMii) -> None:
    assert mii.facts["version"] in MiiAdapter.environment.verified
    assert read_back(mii.facts["settings"])["max_context"] == 2048


def test_every_port_of_the_plan_but_the_models_is_open(mii: RunningMii) -> None:
    ports = mii.plan.ports
    assert {name for name in ports if is_listening(ports[name])} == {"http", "load_balancer", "rank"}


def test_when_a_part_ends_all_of_it_ends(mii: RunningMii) -> None:  # the last to use the server
    (rank,) = [
        int(words[0]) for words in _processes() if "--zmq-port" in words and str(mii.plan.ports["rank"]) in words
    ]
    os.kill(rank, signal.SIGKILL)
    assert mii.process.wait(STOP_S) == 1
    assert f"a part of MII ended, and the rest with it: process {rank} with status -9" in mii.log.read_text()
    assert not any(map(is_listening, mii.plan.ports.values()))
    assert [words for words in _processes() if str(mii.plan.ports["load_balancer"]) in words] == []


def test_sigterm_in_the_middle_of_a_start_leaves_nothing(
    scripted_python: Path, smollm2_variants: dict[str, ModelRef], tmp_path: Path
) -> None:
    with running_mii(scripted_python, smollm2_variants["bf16-hf"], tmp_path / "log", MiiConfig()) as server:
        await_log(server, "waiting for server to start")
        assert len([words for words in _processes() if str(server.plan.ports["load_balancer"]) in words]) >= 2
        server.process.terminate()
        assert server.process.wait(STOP_S) == 0
    assert [words for words in _processes() if str(server.plan.ports["load_balancer"]) in words] == []


def test_a_port_that_is_taken_is_said_before_anything_starts(mii_python: Path) -> None:
    settings = render_settings(MiiConfig(tp=2), sample_model("hf"), {**PORTS, "torch": PORTS["rank"] + 1})
    program = [str(mii_python), _plan().argv[1], "--http-port", str(PORTS["http"]), "--settings", json.dumps(settings)]
    env = {**os.environ, **_plan().env}
    done = subprocess.run(program, capture_output=True, text=True, timeout=CLASSES_S, check=False, env=env)
    assert done.returncode == 1
    assert MiiAdapter().classify_failure(done.stderr).value == "port_taken"


def _plan() -> LaunchPlan:
    return MiiAdapter().launch_plan(MiiConfig(), sample_model("hf"), ports=PORTS)


def _processes() -> list[list[str]]:
    """List every process: its id, then the words of its command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        found.append([folder.name, *words])
    return found
