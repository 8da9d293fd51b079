"""vLLM's CPU build serves LoRA adapters beside the base model."""

import json
import time
from http.client import HTTPResponse
from urllib.request import Request, urlopen

import pytest

from adapters.openai import Dialect, StreamScanner, encode_request
from adapters.vllm.adapter import VllmAdapter
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.replay import served_models
from tests.engines.deployments import LORA

pytestmark = pytest.mark.engine

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


def test_base_model_and_lora_adapter_answer_on_one_server(vllm: LocalDeployment) -> None:
    base = vllm.endpoint.model
    assert served_models(vllm.endpoint.base_url) == [base, LORA]
    for model in (base, LORA):
        scanner = stream(vllm, model)
        assert (scanner.finish_reason, scanner.output_tokens) == ("length", 8)


def test_the_adapter_says_something_else_than_the_base_model(vllm: LocalDeployment) -> None:
    base = text_of(vllm, vllm.endpoint.model)
    assert base.startswith(" Paris")
    assert text_of(vllm, LORA) != base
