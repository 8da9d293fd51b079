"""The adapter of `transformers serve` keeps the rules of every adapter, on a CPU and on CUDA."""

from dataclasses import replace

from adapters.conformance import AdapterConformance
from adapters.protocol import Hardware
from adapters.samples import sample_model
from adapters.transformers_serve.adapter import TransformersAdapter
from adapters.transformers_serve.config import OURS, TransformersConfig
from tests.contracts.transcripts import read_transcripts

MODEL = sample_model("hf")
CPU = Hardware(cpu_count=2, memory_bytes=24 << 30)
EVERYTHING = TransformersConfig(
    tp=2,
    pp=2,
    min_context_tokens=512,
    continuous_batching=True,
    attn_implementation="eager",
    compile=True,
    quantization="bnb-4bit",
    dtype="float16",
    device="cuda:0",
    reasoning="off",
    default_seed=1,
    cb_block_size=64,
    cb_num_blocks=128,
    cb_max_batch_tokens=512,
    cb_max_memory_percent=0.5,
    cb_use_cuda_graph=False,
)


class _Transformers(AdapterConformance):
    adapter = TransformersAdapter()
    model = MODEL
    examples = (EVERYTHING, TransformersConfig(continuous_batching=True), TransformersConfig(compile=True))
    not_passed = OURS
    transcripts = read_transcripts("transformers")


class TestTransformersOnCpu(_Transformers):
    hardware = CPU


class TestTransformersOnCuda(_Transformers):
    hardware = replace(CPU, gpu_names=("any",), gpu_memory_bytes=(80 << 30,))


def test_the_example_sets_every_field() -> None:
    default = TransformersConfig()
    fields = TransformersConfig.model_fields
    assert [name for name in fields if getattr(EVERYTHING, name) == getattr(default, name)] == []


def test_requests_carry_the_path_that_it_was_started_with() -> None:
    plan = TransformersAdapter().launch_plan(TransformersConfig(), MODEL, ports={"http": 8080})
    assert plan.served_model in plan.argv


def test_it_asks_nothing_of_the_network() -> None:
    env = TransformersAdapter().launch_plan(TransformersConfig(), MODEL, ports={"http": 8080}).env
    assert (env["HF_HUB_OFFLINE"], env["HF_HUB_DISABLE_UPDATE_CHECK"]) == ("1", "1")
