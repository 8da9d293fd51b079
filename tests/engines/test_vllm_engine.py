"""vLLM's CPU build, real, as the adapter starts it: its stream, its counters, its end however it ends."""

import json
import os
import time
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.openai import Dialect, StreamScanner, encode_request
from adapters.protocol import ModelRef, StartFailure
from adapters.vllm.adapter import METRICS, VllmAdapter
from orchestrator.deploy.conformance import engine_tree
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.load import OpenLoad
from orchestrator.metrics.latency import ttft_s
from orchestrator.models import resolve
from orchestrator.replay import PreparedRequest, Timing, replay_open
from tests.engines.deployments import SMALL_VLLM, command_line, deployed, request_for
from tests.engines.vllm_kills import API_SERVER, RANK, assert_killing_leaves_nothing

pytestmark = pytest.mark.engine

DIALECT = Dialect("completions", VllmAdapter.capabilities)
PREFIX = list(range(1000, 1300))  # more than two blocks of 128 tokens, so that a repeated one can hit
SPECULATION = {"spec_draft_tokens", "spec_accepted_tokens"}  # series that are there only while it speculates


def stream(deployment: LocalDeployment, prompt: list[int], max_tokens: int) -> StreamScanner:
    endpoint = deployment.endpoint
    body = encode_request(prompt, endpoint.model, dialect=DIALECT, max_tokens=max_tokens)
    request = urllib.request.Request(endpoint.base_url + DIALECT.path, body, {"Content-Type": "application/json"})  # noqa: S310 - loopback
    scanner = DIALECT.scanner()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
        for line in answer:
            scanner.feed(line, time.monotonic_ns())
    return scanner


def canonical(deployment: LocalDeployment) -> dict[str, float]:
    assert deployment.metrics_url is not None
    with urllib.request.urlopen(deployment.metrics_url, timeout=30) as answer:  # noqa: S310 - loopback
        families = text_string_to_metric_families(answer.read().decode())
    samples = {sample.name: sample.value for family in families for sample in family.samples}
    counted = {name: f"{name}_count" if one.kind == "histogram" else name for name, one in METRICS.items()}
    return {METRICS[name].name: samples[series] for name, series in counted.items() if series in samples}


def test_it_streams_the_tokens_that_were_asked_for(vllm: LocalDeployment) -> None:
    scanner = stream(vllm, [504, 3575, 282, 4649, 314], 4)
    assert scanner.done_ns is not None
    assert scanner.finish_reason == "length"
    assert scanner.usage is not None
    assert (scanner.usage.input_tokens, scanner.usage.output_tokens, scanner.output_tokens) == (5, 4, 4)


def test_every_mapped_series_is_there(vllm: LocalDeployment) -> None:
    assert {one.name for one in METRICS.values()} - set(canonical(vllm)) <= SPECULATION


def test_a_repeated_prefix_hits_until_the_cache_is_reset(vllm: LocalDeployment) -> None:
    stream(vllm, PREFIX, 1)
    again = stream(vllm, PREFIX, 1)
    assert again.usage is not None
    assert again.usage.cached_tokens == 256
    reset = vllm.endpoint.base_url + str(VllmAdapter.capabilities.cache_reset_path)
    with urllib.request.urlopen(urllib.request.Request(reset, b""), timeout=30) as answer:  # noqa: S310 - loopback
        assert answer.status == 200
    before = canonical(vllm)["prefix_cache_hit_tokens"]
    stream(vllm, PREFIX, 1)
    assert canonical(vllm)["prefix_cache_hit_tokens"] == before


def test_it_tells_its_configuration_as_it_resolved_it(vllm: LocalDeployment) -> None:
    resolved = vllm.resolved
    assert (resolved["max_num_seqs"], resolved["max_model_len"], resolved["block_size"]) == ("8", "2048", "128")
    assert resolved["dtype"] == "torch.bfloat16"
    assert int(resolved["kv_cache_size_tokens"]) > 40_000


def test_its_own_histogram_agrees_with_the_client(vllm: LocalDeployment) -> None:
    """The engine counts from its receipt to its sending, so the client sees more, by what lies between them."""
    body = encode_request(PREFIX[:32], vllm.endpoint.model, dialect=DIALECT, max_tokens=4)
    requests = [PreparedRequest(index, index * 500_000_000, body, 32, 4) for index in range(10)]
    before = ttft_sum(vllm)
    timing = Timing(warmup_s=0, measure_s=5, drain_s=20, request_timeout_s=30)
    log = replay_open(requests, vllm.endpoint, load=OpenLoad(rate_rps=2), timing=timing, clock=SystemClock())
    mine = [value for one in log.records if (value := ttft_s(one)) is not None]
    theirs = (ttft_sum(vllm) - before) / len(requests)
    assert len(mine) == len(requests)
    assert 0.5 * theirs < sum(mine) / len(mine) < theirs + 1.0


def ttft_sum(deployment: LocalDeployment) -> float:
    assert deployment.metrics_url is not None
    with urllib.request.urlopen(deployment.metrics_url, timeout=30) as answer:  # noqa: S310 - loopback
        families = text_string_to_metric_families(answer.read().decode())
    wanted = "vllm:time_to_first_token_seconds_sum"
    return next(one.value for family in families for one in family.samples if one.name == wanted)


def test_a_killed_api_server_leaves_nothing(vllm: LocalDeployment) -> None:
    """Last of those on the shared server: its engine core and worker must not live on without it."""
    assert_killing_leaves_nothing(vllm, API_SERVER)


def test_ranks_share_no_core_and_a_killed_one_leaves_nothing(tmp_path: Path) -> None:
    model = resolve("tiny-llama-8h", "bf16-hf")  # its heads divide by two
    settings = {**SMALL_VLLM, "max_model_len": 512, "tp": 2, "vllm_cpu_omp_threads_bind": "0|1"}
    with deployed(request_for("vllm", model, tmp_path, **settings)) as deployment:
        ranks = [one for one in engine_tree(deployment) if RANK in command_line(one)]
        assert sorted(tuple(os.sched_getaffinity(one.pid)) for one in ranks) == [(0,), (1,)]
        assert stream(deployment, [5, 6, 7], 3).output_tokens == 3
        assert_killing_leaves_nothing(deployment, RANK)


def test_weights_that_it_does_not_know_are_a_bad_model(smollm2_variants: dict[str, ModelRef], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text(json.dumps({"model_type": "nobody-knows", "architectures": ["Nobody"]}))
    model = smollm2_variants["bf16-hf"].model_copy(update={"path": broken})
    with pytest.raises(DeploymentError) as caught:
        LocalDeployer(SystemClock()).deploy(request_for("vllm", model, tmp_path / "run", **SMALL_VLLM))
    assert caught.value.kind is StartFailure.BAD_MODEL
    assert caught.value.log_tail
