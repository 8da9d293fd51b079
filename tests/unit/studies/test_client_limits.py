"""Which loads are refused for the client's sake, on calibrations made by hand."""

from typing import Any

import pytest

from orchestrator.domain.calibration import Calibration
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.study import DeploySpec, StudySpec, Walk
from orchestrator.studies import client_limits
from orchestrator.studies.client_limits import overlap, refuse_overload, refuse_overload_in_plan, to_tag
from tests.study_builders import FixedClock, a_study
from workloads.workload import FixedSource, Workload


def limits(**changes: Any) -> Calibration:
    values: dict[str, Any] = {
        "ttft_floor_p50_s": 0.0002,
        "ttft_floor_p99_s": 0.0005,
        "itl_error_p99_s": 0.0001,
        "max_rps": 1000.0,
        "max_chunks_per_s": 16_000.0,
        "is_ceiling": True,
        "limited_by": "client",
        "measured_at": "2030-01-01T00:00:00+00:00",
    }
    return Calibration.model_validate(values | changes)


def study_of(*rates_rps: float, output_tokens: int = 16, client_cpus: tuple[int, ...] | None = None) -> StudySpec:
    source = FixedSource(input_tokens=8, output_tokens=output_tokens, pattern="constant")
    return a_study(
        workload=Workload(source=source),
        load=Walk(rates_rps=rates_rps),
        deploy=DeploySpec(deployer="local", client_cpus=client_cpus),
    )


def test_the_largest_load_decides_with_a_fifth_to_spare() -> None:
    assert refuse_overload(study_of(10, 833, 20), limits()) == 1
    with pytest.raises(MeasurementRefusedError, match=r"load 840 requests/s: 840 requests/s and 13,440 chunks/s"):
        refuse_overload(study_of(10, 840, 20), limits())


def test_chunks_count_as_requests_do() -> None:
    with pytest.raises(MeasurementRefusedError, match="takes 2 client processes, and the study gives cores to 1"):
        refuse_overload(study_of(100, output_tokens=200), limits())


def test_more_cores_of_the_client_carry_more() -> None:
    study = study_of(1600, client_cpus=(1, 2))
    assert refuse_overload(study, limits()) == 2
    with pytest.raises(MeasurementRefusedError, match="takes 3 client processes, and the study gives cores to 2"):
        refuse_overload(study_of(2000, client_cpus=(1, 2)), limits())


def test_a_closed_loop_is_not_refused_for_a_rate_that_nobody_knows() -> None:
    assert refuse_overload(a_study(load=Walk(users=(5000,))), limits()) == 1


def test_a_small_load_is_refused_for_the_clients_lateness_and_not_for_the_servers() -> None:
    slow = {"max_rps": 62.5, "max_chunks_per_s": 1000.0}
    assert refuse_overload(study_of(100), limits(**slow, is_ceiling=False, limited_by="null_server")) == 1
    with pytest.raises(MeasurementRefusedError, match="takes 2 client processes"):
        refuse_overload(study_of(100), limits(**slow))


def test_where_nothing_was_shown_only_a_small_load_passes() -> None:
    nothing = limits(max_rps=0.0, max_chunks_per_s=0.0, is_ceiling=False, limited_by="null_server")
    assert refuse_overload(study_of(300), nothing) == 1
    with pytest.raises(MeasurementRefusedError, match="honest at no rate, the null server being late itself"):
        refuse_overload(study_of(400), nothing)


def test_a_plan_measures_the_client_only_where_a_load_may_be_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def calibrate(_clock: object, **options: object) -> Calibration:
        asked.append(options)
        return limits()

    monkeypatch.setattr(client_limits, "calibrate", calibrate)
    refuse_overload_in_plan(study_of(10), FixedClock())
    assert not asked
    with pytest.raises(MeasurementRefusedError, match=r"Lower load\.rates_rps"):
        refuse_overload_in_plan(study_of(5000, client_cpus=(3, 4)), FixedClock())
    assert asked == [{"cpus": (3,), "engine_cpus": None}]


def test_shared_cores_of_client_and_engine_are_said() -> None:
    assert overlap((0,), (1,)) == ()
    assert overlap((0, 1, 2), (1, 2)) == ("client and engine share cores 1, 2",)
    assert "not set" in overlap(None, None)[0]
    assert overlap((0,), None) == ("the engine may run on the client's cores too (deploy.engine_cpus is not set)",)
    assert overlap(None, (0,)) == ("the client may run on the engine's cores too (deploy.client_cpus is not set)",)


def test_the_study_keeps_the_calibration_as_a_line_that_people_read() -> None:
    assert to_tag(limits()) == {"client_calibration": str(limits())}
    assert to_tag(None) == {}
