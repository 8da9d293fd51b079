from typing import Any

import pytest

from adapters.protocol import Capabilities
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.study import WindowSpec
from orchestrator.replay.saturation import SaturationMonitor
from orchestrator.trials import traffic
from tests.study_builders import a_study
from workloads.workload import Workload


def test_the_default_is_left_out_so_that_older_studies_keep_their_digest() -> None:
    assert "stop_when_saturated" not in WindowSpec().model_dump(mode="json")
    assert a_study(window=WindowSpec(stop_when_saturated=True)).digest == a_study().digest


def test_a_study_that_goes_on_in_spite_of_all_is_another_study() -> None:
    keeps_on = WindowSpec(stop_when_saturated=False)
    assert keeps_on.model_dump(mode="json")["stop_when_saturated"] is False
    assert a_study(window=keeps_on).digest != a_study().digest
    assert WindowSpec.model_validate(keeps_on.model_dump(mode="json")) == keeps_on


@pytest.mark.parametrize(
    ("load", "stop", "is_watched"),
    [
        (OpenLoad(rate_rps=5.0), True, True),
        (OpenLoad(rate_rps=5.0), False, False),
        (ClosedLoad(users=2), True, False),
    ],
)
def test_only_an_open_loop_is_watched_and_only_where_the_window_says_so(
    monkeypatch: pytest.MonkeyPatch,
    load: OfferedLoad,
    stop: bool,  # noqa: FBT001 - a parameter of the test, passed by name
    is_watched: bool,  # noqa: FBT001 - a parameter of the test, passed by name
) -> None:
    given: dict[str, Any] = {}
    for name in ("replay_open", "replay_closed"):
        monkeypatch.setattr(traffic, name, lambda *_, **options: given.update(options))
    window = WindowSpec(warmup_s=0, measure_s=1, stop_when_saturated=stop)
    workload = Workload()
    target = traffic.Target(Endpoint("http://127.0.0.1:1", "none"), Capabilities(output_length_control=None), None)
    made = traffic.traffic_for(workload, load, window, target=target, salt="s")
    traffic.offer(made, load, window, target=target, route=workload.dialect, clock=SystemClock(), cpus=None)
    assert isinstance(given["monitor"], SaturationMonitor) == is_watched
    assert (given["monitor"] is None) != is_watched
