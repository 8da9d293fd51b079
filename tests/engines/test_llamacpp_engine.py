"""llama.cpp's real server, as the adapter starts it."""

import contextlib
import http.client
import json
import os
import signal
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.llamacpp.adapter import METRICS, LlamaCppAdapter
from adapters.llamacpp.config import LlamaCppConfig
from adapters.llamacpp.context import slot_tokens
from adapters.protocol import ModelRef
from tests.engines.llamacpp_server import RunningLlamaCpp, is_listening, running_llamacpp

pytestmark = pytest.mark.engine

LONG = "Once upon a time there was a little ship that had never sailed before. "


def samples(server: RunningLlamaCpp) -> dict[str, float]:
    families = text_string_to_metric_families(server.get("/metrics"))
    return {sample.name: sample.value for family in families for sample in family.samples}


def canonical(server: RunningLlamaCpp) -> dict[str, float]:
    found: dict[str, float] = {}
    for series, value in samples(server).items():
        if series in METRICS:
            for name in (METRICS[series].name, *METRICS[series].adds_to):
                found[name] = found.get(name, 0.0) + value
    return found


def complete(server: RunningLlamaCpp, prompt: object, **options: object) -> dict[str, Any]:
    return server.post("/v1/completions", {"prompt": prompt, "temperature": 0, "ignore_eos": True, **options})


def test_it_generates_a_real_token(llamacpp: RunningLlamaCpp) -> None:
    answer = complete(llamacpp, "The capital of France is", max_tokens=1)
    assert answer["choices"][0]["text"] == " Paris"
    assert answer["model"] == "smollm2-135m"


def test_it_says_which_build_runs_with_which_settings(llamacpp: RunningLlamaCpp) -> None:
    settings = LlamaCppConfig(n_ctx=1024, n_parallel=2, n_threads=1).engine_settings()
    assert llamacpp.facts["engine"] == "llamacpp"
    assert llamacpp.facts["version"] in LlamaCppAdapter.environment.verified
    assert llamacpp.facts["settings"] == pytest.approx({**settings, "n_threads_batch": 1})
    assert llamacpp.facts["slot_tokens"] == [512, 512]


def test_every_series_that_is_mapped_is_there(llamacpp: RunningLlamaCpp) -> None:
    assert set(METRICS) - set(samples(llamacpp)) == set()


def test_counters_count_what_requests_cost(llamacpp: RunningLlamaCpp) -> None:
    before = canonical(llamacpp)
    first = complete(llamacpp, LONG * 4, max_tokens=5)["usage"]
    second = complete(llamacpp, LONG * 4, max_tokens=3)["usage"]
    grown = {name: value - before[name] for name, value in canonical(llamacpp).items()}
    prompt_tokens = first["prompt_tokens"] + second["prompt_tokens"]
    hits = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in (first, second))
    assert hits > 0
    assert grown["engine_output_tokens"] == 5 + 3
    assert grown["engine_input_tokens"] == grown["prefix_cache_query_tokens"] == prompt_tokens
    assert grown["prefix_cache_hit_tokens"] == hits


def test_output_length_is_kept(llamacpp: RunningLlamaCpp) -> None:
    assert LlamaCppAdapter.capabilities.output_length_control == "ignore_eos"
    usage = complete(llamacpp, "<|im_end|>", max_tokens=200)["usage"]
    assert usage["completion_tokens"] == 200


def test_a_prompt_may_be_tokens(llamacpp: RunningLlamaCpp) -> None:
    assert LlamaCppAdapter.capabilities.accepts_token_prompts
    assert complete(llamacpp, [504, 3575, 282, 4649, 314], max_tokens=1)["usage"]["prompt_tokens"] == 5


def test_usage_comes_in_the_stream_and_the_connection_is_closed_after_it(llamacpp: RunningLlamaCpp) -> None:
    connection = http.client.HTTPConnection(urlsplit(llamacpp.url).netloc, timeout=30)
    body = {
        "prompt": "Hi",
        "max_tokens": 3,
        "stream": True,
        "ignore_eos": True,
        "stream_options": {"include_usage": True},
    }
    with contextlib.closing(connection):
        connection.request("POST", "/v1/completions", json.dumps(body))
        events = connection.getresponse().read().decode().split("\n\n")
        chunks = [json.loads(event.removeprefix("data: ")) for event in events if event.startswith("data: {")]
        assert LlamaCppAdapter.capabilities.usage_in_stream
        assert chunks[-1]["usage"]["completion_tokens"] == 3
        assert connection.sock is not None
        is_closed = connection.sock.recv(1) == b""
        assert is_closed is not LlamaCppAdapter.capabilities.keeps_alive


def test_a_request_that_no_slot_carries_is_refused(llamacpp: RunningLlamaCpp) -> None:
    with pytest.raises(HTTPError) as refused:
        complete(llamacpp, [504] * 513, max_tokens=1)
    with refused.value as answer:
        assert (answer.code, json.loads(answer.read())["error"]["type"]) == (400, "exceed_context_size_error")


@pytest.mark.parametrize(
    "config",
    [
        LlamaCppConfig(n_ctx=1000, n_parallel=3),
        LlamaCppConfig(n_ctx=100, n_parallel=8),
        LlamaCppConfig(n_ctx=1024, n_parallel=4, kv_unified=True),
        LlamaCppConfig(n_ctx=16384),
        LlamaCppConfig(n_parallel=2),
        LlamaCppConfig(n_ctx=512, cache_type_k="q8_0", cache_type_v="q4_0", speculative_types="ngram_mod", n_batch=64),
    ],
    ids=lambda config: json.dumps(config.model_dump(exclude_defaults=True)),
)
def test_slots_are_as_large_as_the_check_believes(
    smollm2_variants: dict[str, ModelRef], tmp_path: Path, config: LlamaCppConfig
) -> None:
    model = smollm2_variants["q8_0"]
    with running_llamacpp(model, tmp_path / "log", config) as server:
        assert server.facts["slot_tokens"] == [slot_tokens(config, model)] * config.n_parallel


def test_threads_follow_the_cores_that_it_is_given(smollm2_variants: dict[str, ModelRef], tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with running_llamacpp(smollm2_variants["q8_0"], tmp_path / "log", LlamaCppConfig(n_ctx=256)) as server:
            assert server.facts["settings"]["n_threads"] == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_key_of_the_environment_guards_it(smollm2_variants: dict[str, ModelRef], tmp_path: Path) -> None:
    config = LlamaCppConfig(n_ctx=256)
    with running_llamacpp(smollm2_variants["q8_0"], tmp_path / "log", config, SEATRIAL_ENGINE_KEY="k3y") as server:
        with pytest.raises(HTTPError) as refused:
            complete(server, "Hi", max_tokens=1)
        with refused.value as answer:
            assert answer.code == 401
        assert "k3y" not in (tmp_path / "log").read_text()


def test_sigterm_ends_it_cleanly_in_the_middle_of_a_stream(
    smollm2_variants: dict[str, ModelRef], tmp_path: Path
) -> None:
    with running_llamacpp(smollm2_variants["q8_0"], tmp_path / "log", LlamaCppConfig(n_ctx=2048)) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        body = {"prompt": "Hi", "max_tokens": 2000, "stream": True, "ignore_eos": True}
        connection.request("POST", "/v1/completions", json.dumps(body))
        with contextlib.closing(connection), connection.getresponse() as answer:
            assert answer.readline().startswith(b"data:")
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(120) == 0  # the stream may first run to its end, slowly on a busy core
        assert not is_listening(server.url)


def test_a_start_that_fails_is_classified(smollm2_variants: dict[str, ModelRef], tmp_path: Path) -> None:
    missing = smollm2_variants["q8_0"].model_copy(update={"path": tmp_path / "missing.gguf"})
    with (
        pytest.raises(AssertionError, match="the engine did not start"),
        running_llamacpp(missing, tmp_path / "log"),
    ):
        pass
    assert LlamaCppAdapter().classify_failure((tmp_path / "log").read_text()).value == "bad_model"
