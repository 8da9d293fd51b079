"""Who ends the answers, and whether the adapters that are asked are served."""

import pytest

from adapters.protocol import Capabilities, LengthControl
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.trials import traffic
from orchestrator.trials.traffic import check_lora, stop_of
from workloads.workload import Stop, Workload

ENDPOINT = Endpoint("http://127.0.0.1:1", "base")


@pytest.mark.parametrize(
    ("asked", "control", "stop"),
    [
        ("forced", "ignore_eos", "forced"),
        ("natural", "ignore_eos", "natural"),
        ("forced", None, "natural"),
        ("natural", None, "natural"),
    ],
)
def test_a_stop_is_called_forced_only_where_it_is_forced(
    asked: Stop, control: LengthControl | None, stop: Stop
) -> None:
    assert stop_of(Workload(stop=asked), Capabilities(output_length_control=control)) == stop


def test_adapters_that_the_engine_does_not_serve_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "served_models", lambda _url, _key, **_more: ["base", "sql"])
    check_lora(Workload(lora={"sql": 0.5}), ENDPOINT)
    with pytest.raises(
        MeasurementRefusedError, match="asks chat, which the engine does not serve; it serves base, sql"
    ):
        check_lora(Workload(lora={"sql": 0.5, "chat": 0.5}), ENDPOINT)


def test_without_adapters_nobody_is_asked() -> None:
    check_lora(Workload(), ENDPOINT)  # nothing listens there
