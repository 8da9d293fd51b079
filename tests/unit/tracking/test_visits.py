from typing import Any

from orchestrator.tracking.operations import EndRun, LogMetrics, LogText, OpenRun, SetTags
from orchestrator.tracking.visits import ReplayRecord, operations_of_replay
from tests.study_builders import a_measurement


def a_record(**changes: Any) -> ReplayRecord:
    values: dict[str, Any] = {
        "replay_id": "replay-1",
        "url": "http://user:pw@example:8000",
        "server": "vllm",
        "model": "m",
        "asked": {"loads": "1, 2", "requests": None, "slo": {"ttft_s": 0.5}},
        "measurements": (a_measurement(1.0), a_measurement(2.0)),
        "ended_at": "2030-01-01T00:10:00+00:00",
    }
    return ReplayRecord(**(values | changes))


def test_a_replay_is_a_parent_with_one_run() -> None:
    operations = operations_of_replay(a_record())
    parent, child = (one for one in operations if isinstance(one, OpenRun))
    assert (parent.run, parent.parent, parent.name) == ("replay-1", None, "replay m")
    assert (child.parent, child.name) == ("replay-1", "vllm")
    assert {one.run for one in operations if isinstance(one, EndRun)} == {parent.run, child.run}
    assert parent.params == {"loads": "1, 2", "slo": '{"ttft_s": 0.5}'}


def test_a_load_is_a_step_of_every_metric() -> None:
    operations = operations_of_replay(a_record())
    logged = [one for one in operations if isinstance(one, LogMetrics)]
    assert [{point.step for point in one.points} for one in logged] == [{1000}, {2000}]
    texts = [one.path for one in operations if isinstance(one, LogText)]
    assert texts == ["measurements/load-1000.json", "measurements/load-2000.json"]


def test_a_verdict_stands_beside_its_load() -> None:
    tags = [one.tags for one in operations_of_replay(a_record()) if isinstance(one, SetTags)]
    assert tags[0]["load.1000.client_verdict"] == "sound"


def test_a_password_in_the_address_is_not_recorded() -> None:
    assert "pw" not in str([one.model_dump() for one in operations_of_replay(a_record())])


def test_what_is_too_long_for_a_parameter_is_an_artifact() -> None:
    operations = operations_of_replay(a_record(asked={"workload": "x" * 7000}))
    parent = next(one for one in operations if isinstance(one, OpenRun))
    assert parent.params == {"workload": "see artifact values/workload.txt"}
    assert ("values/workload.txt", 7000) in [
        (one.path, len(one.text)) for one in operations if isinstance(one, LogText)
    ]
