"""vLLM's CPU build serves LoRA adapters beside the base model."""

import json
import time
from collections.abc import Iterator
from http.client import HTTPResponse
from urllib.request import Request, urlopen

import pytest

from adapters.openai import Dialect, StreamScanner, encode_request
from adapters.protocol import ModelRef
from adapters.vllm.adapter import VllmAdapter
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.replay import served_models
from tests.engines.deployments import deployed, request_for
from tests.engines.lora_adapter import write_lora_adapter

pytestmark = pytest.mark.engine

SMALL = {"vllm_cpu_kvcache_space": 1, "enforce_eager": True, "max_model_len": 512, "max_num_seqs": 4}
DIALECT = Dialect("completions", VllmAdapter.capabilities)
PARIS = [504, 3575, 282, 4649, 314]  # The capital of France is


def asking(deployment: LocalDeployment, body: bytes) -> HTTPResponse:
    request = Request(deployment.endpoint.base_url + DIALECT.path, body, {"Content-Type": "application/json"})  # noqa: S310 - loopback
    answer: HTTPResponse = urlopen(request, timeout=60)  # noqa: S310 - loopback
    return answer


def stream(deployment: LocalDeployment, model: str, *, max_tokens: int = 8) -> StreamScanner:
    body = encode_request(PARIS, model, dialect=DIALECT, max_tokens=max_tokens)
    scanner = DIALECT.scanner()
    with asking(deployment, body) as answer:
        for line in answer:
            scanner.feed(line, time.monotonic_ns())
    return scanner


def text_of(deployment: LocalDeployment, model: str) -> str:
    body = {"model": model, "prompt": PARIS, "max_tokens": 8, "temperature": 0, "ignore_eos": True}
    with asking(deployment, json.dumps(body).encode()) as answer:
        return str(json.load(answer)["choices"][0]["text"])


@pytest.fixture(scope="module")
def with_adapter(
    smollm2_variants: dict[str, ModelRef], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalDeployment]:
    folder = tmp_path_factory.mktemp("vllm-lora")
    model = smollm2_variants["bf16-hf"]
    adapter = write_lora_adapter(folder / "noise", model)
    lora = {"enable_lora": True, "max_lora_rank": 8, "lora_modules": f"noise={adapter}"}
    with deployed(request_for("vllm", model, folder, **SMALL, **lora)) as deployment:
        yield deployment


def test_base_model_and_lora_adapter_answer_on_one_server(with_adapter: LocalDeployment) -> None:
    base = with_adapter.endpoint.model
    assert served_models(with_adapter.endpoint.base_url) == [base, "noise"]
    for model in (base, "noise"):
        scanner = stream(with_adapter, model)
        assert (scanner.finish_reason, scanner.output_tokens) == ("length", 8)


def test_the_adapter_says_something_else_than_the_base_model(with_adapter: LocalDeployment) -> None:
    base = text_of(with_adapter, with_adapter.endpoint.model)
    assert base.startswith(" Paris")
    assert text_of(with_adapter, "noise") != base
