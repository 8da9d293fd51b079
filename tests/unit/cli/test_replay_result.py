from pathlib import Path

import pytest

from orchestrator.cli.countdown import Countdown
from orchestrator.cli.replay_result import emit_loads, records_path, refuse_useless
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import RequestFailure
from tests.study_builders import a_measurement
from tests.unit.metrics.conftest import make_log, make_record


def judged(verdict: Verdict) -> Measurement:
    one = a_measurement()
    fidelity = one.fidelity.model_copy(update={"verdict": verdict, "reasons": ("the client was late",)})
    return one.model_copy(update={"fidelity": fidelity})


def test_a_degraded_measurement_may_be_used() -> None:
    refuse_useless([judged(Verdict.DEGRADED)], [make_log([make_record()])])


def test_an_invalid_measurement_is_refused_with_its_reason() -> None:
    with pytest.raises(MeasurementRefusedError, match="the client was late"):
        refuse_useless([judged(Verdict.INVALID)], [make_log([make_record()])])


def test_a_server_that_answers_nothing_is_no_result() -> None:
    one = a_measurement().model_copy(
        update={"num_issued": 2, "num_completed": 0, "num_failed": 2, "failures": {RequestFailure.HTTP_STATUS: 2}}
    )
    failed = make_record(failure=RequestFailure.HTTP_STATUS, failure_detail="401 Unauthorized")
    with pytest.raises(MeasurementRefusedError, match=r"http_status 2.*401 Unauthorized"):
        refuse_useless([one], [make_log([failed])])


def test_each_load_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    emit_loads([a_measurement(), a_measurement()])
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 3
    assert lines[0].split()[0] == "load"


def test_records_of_several_loads_lie_in_a_folder(tmp_path: Path) -> None:
    assert records_path(tmp_path / "one.parquet", 5, is_walk=False) == tmp_path / "one.parquet"
    assert records_path(tmp_path / "all", 5, is_walk=True) == tmp_path / "all" / "load-5.parquet"
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="folder"):
        records_path(tmp_path / "file", 5, is_walk=True)


def test_the_countdown_tells_its_phases() -> None:
    shown = Countdown("4/s", warmup_s=2, measure_s=10)
    assert shown.line(1) == "4/s: warm-up, 1 of 2 s"
    assert shown.line(5) == "4/s: 3 of 10 s"
    assert shown.line(15) == "4/s: waiting for the last answers, 3 s"
    assert Countdown("4/s", warmup_s=0, measure_s=None).line(7) == "4/s: 7 s"


def test_the_countdown_is_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with Countdown("4/s", warmup_s=0, measure_s=1):
        pass
    assert capsys.readouterr().err == ""
