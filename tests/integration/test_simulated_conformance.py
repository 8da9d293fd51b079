"""The simulated engine, started, keeps the rules of every engine."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from adapters.protocol import EngineAdapter, ModelRef, ServerMetric
from adapters.samples import sample_model
from adapters.simulated.adapter import SimulatedAdapter
from orchestrator.deploy.conformance import (
    EngineConformance,
    assert_nothing_is_left,
    await_seen_end,
    ends,
    engine_tree,
    make_request,
)
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.local import make_local_deployer
from orchestrator.deploy.supervisor import Process, identify


class TestSimulatedEngine(EngineConformance):
    adapter = SimulatedAdapter()
    settings: ClassVar[Mapping[str, object]] = {"ttft_s": 0.02, "itl_s": 0.01}

    @pytest.fixture
    def model(self) -> ModelRef:
        return sample_model("none")


class TestSimulatedEngineWithChunksOfTwo(TestSimulatedEngine):
    settings: ClassVar[Mapping[str, object]] = {"tokens_per_chunk": 2, "first_chunk": "role", "usage": "with_last"}


class WrongKind(SimulatedAdapter):
    def server_metrics(self) -> Mapping[str, ServerMetric]:
        return {"simulated_requests_running": ServerMetric("engine_output_tokens", "tokens", "counter")}


class OtherSeries(SimulatedAdapter):
    def server_metrics(self) -> Mapping[str, ServerMetric]:
        return {"other_requests_running": ServerMetric("engine_requests_running", "requests", "gauge")}


def deploy(folder: Path, **settings: object) -> LocalDeployment:
    config = SimulatedAdapter.config_type.model_validate(settings)
    request = replace(make_request(folder), adapter=SimulatedAdapter(), model=sample_model("none"), config=config)
    return make_local_deployer().deploy(request)


def suite(adapter: EngineAdapter) -> EngineConformance:
    found = EngineConformance()
    found.adapter = adapter  # type: ignore[misc]
    return found


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"usage": "never"}, "usage_in_stream promises usage"),
        ({"fail_every": 3, "fail_kind": "cut", "fail_after_tokens": 2}, "expected a whole answer"),
    ],
)
def test_an_engine_whose_answers_are_not_as_promised_is_found(
    tmp_path: Path, settings: dict[str, object], words: str
) -> None:
    deployment = deploy(tmp_path, ttft_s=0.02, **settings)
    try:
        with pytest.raises(AssertionError, match=words):
            suite(SimulatedAdapter()).test_each_route_generates_the_tokens_that_were_asked_for(deployment)
    finally:
        deployment.stop()


def test_series_of_another_kind_and_series_that_are_not_there_are_found(tmp_path: Path) -> None:
    deployment = deploy(tmp_path, ttft_s=0.02)
    try:
        with pytest.raises(AssertionError, match="engine_output_tokens is a counter, saw gauge"):
            suite(WrongKind()).test_its_metrics_are_of_the_canonical_kinds(deployment)
        with pytest.raises(AssertionError, match="none of the mapped series is there"):
            suite(OtherSeries()).test_its_metrics_are_of_the_canonical_kinds(deployment)
        with pytest.raises(AssertionError, match="still called alive"):
            await_seen_end(deployment, 0.1)
    finally:
        deployment.stop()


def test_a_process_that_outlives_its_engine_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "DEATH_LIMIT_S", 0.1)
    deployment = deploy(tmp_path, ttft_s=0.02)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as survivor:
        one = identify(survivor.pid)
        assert isinstance(one, Process)
        try:
            with pytest.raises(AssertionError, match="processes must have ended"):
                assert_nothing_is_left(deployment, [*engine_tree(deployment), one])
        finally:
            survivor.kill()
