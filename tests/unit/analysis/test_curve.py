from collections.abc import Callable

import pytest

from orchestrator.analysis.curve import Curve, Ranked, rank, score
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned, TrialOutcome
from orchestrator.domain.slo import Slo

MakeMeasurement = Callable[..., Measurement]
SLO = Slo(ttft_s=0.5, attainment=0.9)


def test_a_curve_rises_in_load_and_leaves_out_what_is_invalid(measurement: MakeMeasurement) -> None:
    curve = Curve.of([measurement(4), measurement(1), measurement(2, verdict=Verdict.INVALID)])
    assert [one.offered_rps for one in curve.measurements] == [1, 4]


def test_goodput_counts_at_loads_where_the_slo_was_attained(measurement: MakeMeasurement) -> None:
    walked = [measurement(1), measurement(2, attainment=0.95), measurement(4, attainment=0.7)]
    assert score(walked, "goodput_rps", slo=SLO) == pytest.approx(1.9)  # not the 2.8 at a load where 3 of 10 missed


def test_an_invalid_measurement_does_not_score(measurement: MakeMeasurement) -> None:
    walked = [measurement(1), measurement(2, verdict=Verdict.INVALID)]
    assert score(walked, "goodput_rps", slo=SLO) == 1.0


def test_a_configuration_that_is_worse_at_every_load_scores_lower(measurement: MakeMeasurement) -> None:
    better = [measurement(2, attainment=0.95), measurement(4, attainment=0.70)]
    worse = [measurement(2, attainment=0.70), measurement(4, attainment=0.65)]  # its best goodput, 2.6, exceeds 1.9
    assert score(better, "goodput_rps", slo=SLO) > score(worse, "goodput_rps", slo=SLO)


def test_among_those_that_attain_nothing_the_nearer_one_scores_higher(measurement: MakeMeasurement) -> None:
    near, far = [measurement(2, attainment=0.8)], [measurement(2, attainment=0.1)]
    assert score(near, "goodput_rps", slo=SLO) > score(far, "goodput_rps", slo=SLO)


@pytest.mark.parametrize(("objective", "expected"), [("output_tokens_per_s", 80.0), ("requests_per_s", 4.0)])
def test_throughput_counts_at_its_best_load(measurement: MakeMeasurement, objective: str, expected: float) -> None:
    walked = [measurement(4, attainment=None), measurement(1, attainment=None)]
    assert score(walked, objective) == expected  # type: ignore[arg-type]  # parametrised over the literal's values


def test_nothing_valid_is_refused_rather_than_scored_zero(measurement: MakeMeasurement) -> None:
    with pytest.raises(MeasurementRefusedError, match="none of 1 measurements is valid"):
        score([measurement(1, verdict=Verdict.INVALID)], "goodput_rps", slo=SLO)


def test_goodput_without_an_slo_is_refused(measurement: MakeMeasurement) -> None:
    with pytest.raises(ValueError, match="needs an SLO"):
        score([measurement(1)], "goodput_rps")
    with pytest.raises(ValueError, match="without an SLO"):
        score([measurement(1, attainment=None)], "goodput_rps", slo=SLO)


def test_capacity_ends_at_the_first_load_that_misses(measurement: MakeMeasurement) -> None:
    walked = [measurement(1), measurement(2), measurement(3, attainment=0.5), measurement(4)]
    capacity = Curve.of(walked).capacity(SLO)
    assert capacity is not None
    assert capacity.offered_rps == 2
    assert Curve.of([measurement(1, attainment=0.5)]).capacity(SLO) is None


def test_only_completed_trials_are_ranked_and_ties_go_to_the_earlier() -> None:
    outcomes: dict[int, TrialOutcome] = {
        0: Completed((), 1.0),
        1: Infeasible("does not fit"),
        2: Completed((), 3.0),
        3: Pruned((), 9.0),
        4: Failed("lost"),
        5: Completed((), 3.0),
    }
    assert rank(outcomes) == (Ranked(2, 3.0), Ranked(5, 3.0), Ranked(0, 1.0))
