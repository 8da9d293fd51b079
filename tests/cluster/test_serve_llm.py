"""vLLM inside Ray Serve's own LLM replica, real, on the CPU build: the second path to the same engine."""

import dataclasses
import json
import os
import signal
import time
import urllib.request
from pathlib import Path

import pytest

from adapters.openai import Dialect, encode_request
from adapters.vllm.adapter import VllmAdapter
from orchestrator.cluster.deployer import RayDeployer
from orchestrator.cluster.llm_deployment import LlmDeployment
from orchestrator.cluster.session import ray_session
from orchestrator.deploy.supervisor import is_running
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.errors import DeploymentError
from orchestrator.models import resolve
from orchestrator.trials import placement_of
from tests.engines.deployments import command_line, request_for

pytestmark = [pytest.mark.cluster, pytest.mark.engine]

DIALECT = Dialect("completions", VllmAdapter.capabilities)
END_S = 20.0


def llm_request(folder: Path) -> DeployRequest:
    """Tensor parallel 2, each rank on a core of its own; needs a model whose heads divide."""
    model = resolve("tiny-llama-8h", "bf16-hf")
    settings = {"vllm_cpu_kvcache_space": 1, "enforce_eager": True, "max_model_len": 512, "max_num_seqs": 8}
    parallel = {"tp": 2, "vllm_cpu_omp_threads_bind": "0|1", "serve_llm": True}
    request = request_for("vllm", model, folder, **settings, **parallel)
    placement = placement_of(request.config, adapter=request.adapter, model=model, device="CPU")
    return dataclasses.replace(request, placement=placement)


def stream_events(deployment: LlmDeployment, max_tokens: int) -> list[bytes]:
    body = encode_request("One two three", deployment.endpoint.model, dialect=DIALECT, max_tokens=max_tokens)
    url = deployment.endpoint.base_url + DIALECT.path
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
        return [line for line in answer if line.startswith(b"data: {")]


def assert_seen_to_end(deployment: LlmDeployment) -> None:
    deadline = time.monotonic() + END_S
    seen = None
    while seen is None and time.monotonic() < deadline:
        time.sleep(0.2)
        try:
            deployment.check_alive()
        except DeploymentError as error:
            seen = error
    assert seen is not None


def test_ranks_in_a_placement_group_stream_token_by_token_and_leave_nothing_when_the_core_is_killed(
    tmp_path: Path,
) -> None:
    with ray_session(None, http=True):
        deployment = RayDeployer(SystemClock()).deploy(llm_request(tmp_path))
        assert isinstance(deployment, LlmDeployment)
        try:
            assert (deployment.endpoint.via, deployment.metrics_url) == ("serve", None)
            ranks = [one for one in deployment.tree.known if "VLLM::Worker" in command_line(one)]
            assert sorted(tuple(os.sched_getaffinity(one.pid)) for one in ranks) == [(0,), (1,)]
            settings = deployment.resolved
            assert (settings["tensor_parallel_size"], settings["max_num_seqs"]) == ("2", "8")
            texts = [json.loads(line[6:])["choices"] for line in stream_events(deployment, 4)]
            assert len([one for one in texts if one]) == 4  # no token waits for the next one
            core = next(one for one in deployment.tree.known if "VLLM::EngineCore" in command_line(one))
            os.kill(core.pid, signal.SIGKILL)
            assert_seen_to_end(deployment)
        finally:
            report = deployment.stop()
        assert (report.processes_gone, report.leftovers) == (True, ())
        assert [one for one in deployment.tree.known if is_running(one)] == []
        assert (tmp_path / "engine.log").read_text()


def test_an_engine_that_does_not_start_is_tried_once_and_classified(tmp_path: Path) -> None:
    request = llm_request(tmp_path / "run")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text((request.model.path / "config.json").read_text())
    request = dataclasses.replace(request, model=request.model.model_copy(update={"path": broken}))
    with ray_session(None, http=True), pytest.raises(DeploymentError) as caught:
        RayDeployer(SystemClock()).deploy(request)
    assert caught.value.log_tail
    assert not (tmp_path / "run" / "engine.pids.json").exists()
