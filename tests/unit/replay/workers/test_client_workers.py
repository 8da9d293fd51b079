"""Who sends is chosen by a study, and by whoever offers a load without one."""

from typing import Any

import pytest
from pydantic import ValidationError

from adapters.protocol import Capabilities
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.study import DeploySpec, WindowSpec
from orchestrator.trials import traffic
from orchestrator.trials.traffic import Target, offer, traffic_for
from tests.study_builders import a_study
from workloads.workload import FixedSource, Workload

LOAD, WINDOW = OpenLoad(rate_rps=10), WindowSpec(warmup_s=0, measure_s=1)
TARGET = Target(Endpoint("http://127.0.0.1:1", "m"), Capabilities(), None)


@pytest.mark.parametrize(
    ("deploy", "workers"),
    [
        ({}, 1),
        ({"client_cpus": (2,)}, 1),
        ({"client_cpus": (2, 3)}, 2),
        ({"client_cpus": (2,), "client_workers": 3}, 3),
    ],
)
def test_a_study_sends_from_one_process_a_client_core_unless_it_says_how_many(
    deploy: dict[str, Any], workers: int
) -> None:
    assert DeploySpec(**deploy).num_client_workers == workers


def test_a_study_that_does_not_say_how_many_keeps_its_digest() -> None:
    assert "client_workers" not in DeploySpec().model_dump()
    digests = {a_study(deploy={"client_workers": count}).digest for count in (None, 1, 2)}
    assert len(digests) == 3
    assert DeploySpec.model_validate(DeploySpec(client_workers=2).model_dump()).client_workers == 2
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        DeploySpec(client_workers=0)


@pytest.mark.parametrize(
    ("asked", "by"),
    [
        ({"cpus": None}, "this process"),
        ({"cpus": (0,)}, "this process"),
        ({"cpus": (0, 1)}, (2, (0, 1))),
        ({"cpus": (0, 1), "workers": 1}, "this process"),
        ({"cpus": None, "workers": 2}, (2, None)),
        ({"cpus": (0,), "records_path": "requests.parquet"}, (1, (0,))),
    ],
)
def test_a_load_is_offered_by_as_many_processes_as_it_should(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], by: object
) -> None:
    monkeypatch.setattr(traffic, "replay_open", lambda *_args, **_named: "this process")
    monkeypatch.setattr(traffic, "replay_shared", lambda *_args, **named: (named["crew"].workers, named["crew"].cpus))
    workload = Workload(source=FixedSource(input_tokens=8, output_tokens=4), content="english")
    made = traffic_for(workload, LOAD, WINDOW, target=TARGET, salt="")
    assert offer(made, LOAD, WINDOW, target=TARGET, route="chat", clock=SystemClock(), **asked) == by
