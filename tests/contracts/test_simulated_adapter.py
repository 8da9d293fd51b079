"""The simulated engine's adapter keeps the rules of every adapter, and a few of its own."""

from dataclasses import fields

import pytest

from adapters.conformance import AdapterConformance
from adapters.protocol import Hardware, StartFailure
from adapters.samples import sample_model
from adapters.simulated.adapter import SimulatedAdapter
from adapters.simulated.config import SimulatedConfig
from adapters.simulated.options import Options, parse
from tests.contracts.transcripts import read_transcripts

MODEL = sample_model("none")
HARDWARE = Hardware(cpu_count=2, memory_bytes=1 << 34)
EVERYTHING = SimulatedConfig(
    tp=3,
    pp=2,
    ttft_s=0.2,
    itl_s=0.02,
    max_running=4,
    slowdown_per_running=0.25,
    tokens_per_chunk=2,
    first_chunk="role",
    reasoning_tokens=3,
    tool_call_tokens=2,
    output_ids="each_chunk",
    keepalive_s=0.5,
    usage="with_last",
    eos_after_tokens=7,
    reply_tokens=9,
    max_model_len=1024,
    kv_tokens=4096,
    lora_modules="one,two",
    voices="voices.json",
    script="script.jsonl",
    log="sent.jsonl",
    fail_every=10,
    fail_kind="cut",
    fail_status=429,
    fail_after_tokens=2,
    start_delay_s=0.1,
    unhealthy_s=0.2,
    crash_on_start="-- CUDA out of memory",
    crash_after_requests=100,
    grow_bytes_per_request=1024,
)


class TestSimulatedAdapter(AdapterConformance):
    adapter = SimulatedAdapter()
    model = MODEL
    hardware = HARDWARE
    examples = (EVERYTHING, SimulatedConfig(chunks_per_token=3), SimulatedConfig(tp=2))
    transcripts = read_transcripts("simulated")


def test_config_and_server_have_the_same_settings_and_defaults() -> None:
    of_server = {field.name: field.default for field in fields(Options)}
    of_config = {name: field.default for name, field in SimulatedConfig.model_fields.items()}
    assert of_server.keys() - of_config.keys() == {"host", "port", "model"}
    assert of_config.items() <= of_server.items()


def test_the_server_reads_back_every_setting() -> None:
    plan = SimulatedAdapter().launch_plan(EVERYTHING, MODEL, ports={"http": 8123})
    options = parse(list(plan.argv[2:]))
    assert (options.port, options.model) == (8123, MODEL.name)
    assert {name: getattr(options, name) for name in SimulatedConfig.model_fields} == EVERYTHING.model_dump()


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (SimulatedConfig(tp=2), "tp"),
        (SimulatedConfig(pp=31), "pp"),
        (SimulatedConfig(tokens_per_chunk=2, chunks_per_token=2), "chunks_per_token"),
        (SimulatedConfig(max_model_len=8192, kv_tokens=4096), "max_model_len"),
    ],
)
def test_what_cannot_run_is_named(config: SimulatedConfig, key: str) -> None:
    assert [found.key for found in SimulatedAdapter().check(config, MODEL, HARDWARE)] == [key]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", StartFailure.OUT_OF_MEMORY),
        ("server.py: error: unrecognized arguments: --no-such-flag", StartFailure.BAD_FLAG),
        ("[Errno 98] error while attempting to bind: address already in use", StartFailure.PORT_TAKEN),
        ("ModuleNotFoundError: No module named 'uvloop'", StartFailure.MISSING_PACKAGE),
        ("failed to load model", StartFailure.BAD_MODEL),
        ("Xid 79: GPU has fallen off the bus", StartFailure.LOST_DEVICE),
        ("all is well", StartFailure.UNKNOWN),
        ("out of memory\nretried\naddress already in use\n", StartFailure.PORT_TAKEN),
    ],
)
def test_the_reason_is_read_from_the_log(log: str, expected: StartFailure) -> None:
    assert SimulatedAdapter().classify_failure(log) is expected


def test_it_is_labelled_simulated() -> None:
    assert SimulatedAdapter.capabilities.is_simulated
