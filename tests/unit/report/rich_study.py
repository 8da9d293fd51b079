"""A study in which everything a report can show is there: intervals, a transient, a load given up, a calibration."""

from typing import Any

from orchestrator.domain.cache import CacheState
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.distribution import Distribution, Interval
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed
from orchestrator.domain.steadiness import Steadiness
from orchestrator.domain.study_record import StudyRecord, TrialRecord
from orchestrator.metrics.saturation import OUTGREW
from tests.study_builders import a_distribution, a_measurement, a_record, a_trial, an_evidence

REASON = f"{OUTGREW}: over 13 s, 6.1 requests/s ended of 8 offered"
CALIBRATION = Calibration(
    ttft_floor_p50_s=0.0003,
    ttft_floor_p99_s=0.0008,
    itl_error_p99_s=0.0002,
    max_rps=6200,
    max_chunks_per_s=99000,
    is_ceiling=True,
    measured_at="2027-01-15T07:00:00+00:00",
    limited_by="client",
)


def banded(median: float, count: int = 400) -> Distribution:
    """A distribution whose parts carry intervals of 10 % either way, but for P99, which needs 900 values."""
    plain = a_distribution(median, count)
    parts = {"mean": plain.mean, "p50": plain.p50, "p90": plain.p90, "p95": plain.p95}
    intervals = {part: Interval(low=0.9 * value, high=1.1 * value) for part, value in parts.items() if value}
    return plain.model_copy(update={"intervals": intervals, "needed": {"p99": 900}, "effective_count": 120.0})


def a_full_measurement(rate_rps: float, **changes: Any) -> Measurement:
    ttft_s = 0.05 * (1 + rate_rps**2 / 8)
    fidelity = a_measurement().fidelity
    values: dict[str, Any] = {
        "ttft_s": banded(ttft_s),
        "ttft_from_intended_s": banded(ttft_s * 1.2),
        "e2e_s": banded(ttft_s + 0.6),
        "e2e_from_intended_s": banded(ttft_s * 1.2 + 0.6),
        "tpot_s": banded(0.011),
        "rate_intervals": {"goodput_rps": Interval(low=0.9 * rate_rps, high=rate_rps)},
        "steadiness": Steadiness(is_steady=True, transient_s=3.0 if rate_rps == 2.0 else 0.0),
        "calibration": CALIBRATION,
        "cache": CacheState(policy="salted", hit_ratio=0.2, enforced_by="salt", expected_hit_ratio=0.25, holds=True),
        "fidelity": fidelity.model_copy(update={"verdict": Verdict.DEGRADED, "reasons": ("the client was late",)})
        if rate_rps == 4.0
        else fidelity,
        "started_at": f"2027-01-15T08:00:{round(rate_rps * 5):02d}+00:00",
        "window_s": 5.0,
    }
    return a_measurement(rate_rps, **(values | changes))


def a_given_up_measurement(rate_rps: float = 8.0) -> Measurement:
    given_up = Steadiness(is_steady=False, transient_s=None, oversaturated_at_s=13.2, given_up=REASON)
    return a_full_measurement(
        rate_rps, steadiness=given_up, window_s=13.2, slo_attainment=0.11, goodput_rps=0.9, window_is_steady=False
    )


def a_full_record() -> StudyRecord:
    measurements = (*(a_full_measurement(rate) for rate in (1.0, 2.0, 4.0)), a_given_up_measurement())
    trials = tuple(
        TrialRecord(
            a_trial(number), {"argv": "python -m server"}, measurements, Completed(measurements, 3.0 + number), None,
            an_evidence(measurements, seconds=60),
        )
        for number in (0, 1)
    )  # fmt: skip
    return a_record(trials=trials)
