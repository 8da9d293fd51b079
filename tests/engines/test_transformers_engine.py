"""The real `transformers serve`, deployed as a trial deploys it, with continuous batching and without."""

import contextlib
import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tokenizers import Tokenizer

from adapters.openai import Dialect, StreamScanner, encode_request
from adapters.protocol import ModelRef, StartFailure
from adapters.transformers_serve.adapter import TransformersAdapter
from adapters.transformers_serve.config import TransformersConfig
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.local import make_local_deployer
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import plan_placement
from orchestrator.models import resolve
from tests.engines.environments import interpreter_for

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

READY_S = 240.0
ANSWER_S = 120.0
DIALECT = Dialect(capabilities=TransformersAdapter.capabilities)
PARIS = "The capital of France is"
SAYS_LITTLE = "<|im_start|>user\nSay yes.<|im_end|>\n<|im_start|>assistant\n"
BATCHED = TransformersConfig(
    continuous_batching=True, cb_block_size=32, cb_num_blocks=64, cb_max_batch_tokens=256, device="cpu"
)
ONE_BY_ONE = TransformersConfig(device="cpu")


@pytest.fixture(scope="session")
def interpreter() -> Path:
    return interpreter_for("transformers")


@pytest.fixture(scope="session")
def model() -> ModelRef:
    return resolve("smollm2-135m", "bf16-hf")


def deploy(config: TransformersConfig, model: ModelRef, folder: Path, interpreter: Path) -> LocalDeployment:
    request = DeployRequest(
        trial_id="transformers",
        adapter=TransformersAdapter(),
        config=config,
        model=model,
        placement=plan_placement("process", tp=1, pp=1, device="CPU"),
        folder=folder,
        interpreter=interpreter,
        cpus=(min(os.sched_getaffinity(0)),),  # threads that share cores with other programs wait for each other
        ready_timeout_s=READY_S,
    )
    return make_local_deployer().deploy(request)


@pytest.fixture(scope="module", params=[BATCHED, ONE_BY_ONE], ids=["batched", "one_by_one"])
def deployment(
    request: pytest.FixtureRequest, model: ModelRef, interpreter: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalDeployment]:
    running = deploy(request.param, model, tmp_path_factory.mktemp("transformers"), interpreter)
    try:
        yield running
    finally:
        report = running.stop()
    assert (report.processes_gone, report.ports_free, report.leftovers) == (True, True, ())


@contextlib.contextmanager
def connected(deployment: LocalDeployment) -> Iterator[http.client.HTTPConnection]:
    address = urlsplit(deployment.endpoint.base_url).netloc
    with contextlib.closing(http.client.HTTPConnection(address, timeout=ANSWER_S)) as connection:
        yield connection


def post(connection: http.client.HTTPConnection, body: bytes, path: str = DIALECT.path) -> http.client.HTTPResponse:
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    return connection.getresponse()


def ask(deployment: LocalDeployment, **fields: object) -> tuple[int, dict[str, Any]]:
    body = {"model": deployment.endpoint.model, "temperature": 0, "max_tokens": 4, "prompt": PARIS, **fields}
    with connected(deployment) as connection:
        answer = post(connection, json.dumps(body).encode())
        return answer.status, json.loads(answer.read())


def stream(deployment: LocalDeployment, prompt: str, tokens: int, dialect: Dialect = DIALECT) -> StreamScanner:
    scanner = dialect.scanner()
    with connected(deployment) as connection:
        body = encode_request(prompt, deployment.endpoint.model, dialect=dialect, max_tokens=tokens)
        for line in post(connection, body, dialect.path):
            scanner.feed(line, time.monotonic_ns())
    scanner.close(time.monotonic_ns())
    return scanner


def test_it_generates_a_real_token(deployment: LocalDeployment) -> None:
    times = deployment.times
    assert 0 < times.listen_s <= times.health_s < times.token_s
    status, answer = ask(deployment, max_tokens=1)
    assert (status, answer["choices"][0]["text"]) == (200, " Paris")


def test_a_stream_is_read_token_by_token(deployment: LocalDeployment) -> None:
    scanner = stream(deployment, PARIS, 12)
    assert (scanner.error, scanner.malformed, scanner.finish_reason, scanner.may_end) == (None, None, "length", True)
    assert (scanner.output_tokens, len(scanner.chunk_ns)) == (12, 12)
    assert scanner.usage is not None
    assert scanner.usage.output_tokens == 12


def test_the_prompt_is_counted_as_our_tokenizer_counts_it(deployment: LocalDeployment, model: ModelRef) -> None:
    assert model.tokenizer_path is not None
    ours = Tokenizer.from_file(str(model.tokenizer_path)).encode(PARIS * 9).ids
    usage = stream(deployment, PARIS * 9, 1).usage
    assert usage is not None
    assert usage.input_tokens == len(ours)


def test_output_length_is_kept(deployment: LocalDeployment) -> None:
    _, natural = ask(deployment, prompt=SAYS_LITTLE, max_tokens=40)
    assert natural["choices"][0]["finish_reason"] == "stop"
    assert natural["usage"]["completion_tokens"] < 40
    forced = stream(deployment, SAYS_LITTLE, 40)
    assert forced.usage is not None
    assert (forced.usage.output_tokens, forced.finish_reason) == (40, "length")


def test_it_chats(deployment: LocalDeployment) -> None:
    scanner = stream(deployment, "Say yes.", 6, Dialect("chat", TransformersAdapter.capabilities))
    assert scanner.usage is not None
    assert (scanner.usage.output_tokens, scanner.output_tokens, scanner.may_end) == (6, 6, True)


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"prompt": [504, 3575]}, 400), ({"model": "smollm2-135m"}, 400), ({"ignore_eos": True}, 422)],
    ids=["token_ids", "another_name", "ignore_eos"],
)
def test_what_it_cannot_do_is_refused(deployment: LocalDeployment, fields: dict[str, object], status: int) -> None:
    assert ask(deployment, **fields)[0] == status


def test_the_connection_stays_after_a_stream(deployment: LocalDeployment) -> None:
    assert TransformersAdapter.capabilities.keeps_alive
    body = encode_request(PARIS, deployment.endpoint.model, dialect=DIALECT, max_tokens=2)
    with connected(deployment) as connection:
        for _ in range(2):
            post(connection, body).read()
            assert connection.sock is not None


def test_it_has_no_metrics(deployment: LocalDeployment) -> None:
    assert deployment.metrics_url is None
    with connected(deployment) as connection:
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 404


def test_it_stops_in_the_middle_of_a_stream(model: ModelRef, interpreter: Path, tmp_path: Path) -> None:
    running = deploy(BATCHED, model, tmp_path, interpreter)
    with contextlib.ExitStack() as stack:
        stack.callback(running.stop)
        connection = stack.enter_context(connected(running))
        body = encode_request(PARIS, running.endpoint.model, dialect=DIALECT, max_tokens=1500)
        assert post(connection, body).readline().startswith(b"data:")
        report = running.stop()
    assert (report.processes_gone, report.ports_free, report.leftovers) == (True, True, ())


def test_a_cache_that_does_not_fit_ends_the_start_at_once(model: ModelRef, interpreter: Path, tmp_path: Path) -> None:
    config = BATCHED.model_copy(update={"cb_num_blocks": 10_000_000})
    began_s = time.monotonic()
    with pytest.raises(DeploymentError, match="was healthy and is no more") as refused:
        deploy(config, model, tmp_path, interpreter)
    assert refused.value.kind is StartFailure.OUT_OF_MEMORY
    assert time.monotonic() - began_s < READY_S / 2


def test_missing_weights_are_classified(model: ModelRef, interpreter: Path, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError) as refused:
        deploy(ONE_BY_ONE, model.model_copy(update={"path": tmp_path / "missing"}), tmp_path, interpreter)
    assert refused.value.kind is StartFailure.BAD_MODEL


def test_threads_follow_the_cores_that_it_is_given(interpreter: Path) -> None:
    core = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{core}}}); import torch; print(torch.get_num_threads())"
    told = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["1"]
