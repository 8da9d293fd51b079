"""Builders of domain values for tests of record and report: plausible figures, every field set on purpose."""

from typing import Any

import numpy as np

from orchestrator.domain.cache import CacheState
from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.distribution import Distribution
from orchestrator.domain.fidelity import Fidelity, Verdict
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.measurement import Measurement, Resources
from orchestrator.domain.outcome import Completed, Failed, Infeasible
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.slo import Slo
from orchestrator.domain.study import Budget, EngineChoice, ModelChoice, StudySpec, Walk
from orchestrator.domain.study_record import StudyRecord, TrialEvidence, TrialRecord, spans_of
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.domain.trial import TrialSpec

GIB = 2**30


class FixedClock:
    """A clock that a test moves by hand."""

    def __init__(self, wall_s: float = 1_800_000_000.0) -> None:
        self.time_s = wall_s

    def now_ns(self) -> int:
        return round(self.time_s * NS_PER_S)

    def wall_s(self) -> float:
        return self.time_s


def a_study(**changes: Any) -> StudySpec:
    values: dict[str, Any] = {
        "name": "demo",
        "model": ModelChoice(name="smollm2-135m"),
        "engines": (EngineChoice(name="llamacpp"),),
        "load": Walk(rates_rps=(1.0, 2.0, 4.0)),
        "slo": Slo(ttft_s=0.5, tpot_s=0.1),
        "budget": Budget(trials=4),
    }
    return StudySpec(**(values | changes))


def a_trial(number: int = 0, **changes: Any) -> TrialSpec:
    assignment: dict[str, Any] = {} if number == 0 else {"n_parallel": 2 * number, "cont_batching": number % 2 == 0}
    values: dict[str, Any] = {
        "study_id": "demo-1",
        "study_digest": a_study().digest,
        "number": number,
        "engine": "llamacpp",
        "assignment": assignment,
        "config": assignment,
        "model_sha256": "ab" * 32,
    }
    return TrialSpec(**(values | changes))


def a_distribution(median: float, count: int = 100) -> Distribution:
    return Distribution(
        mean=median * 1.1,
        p50=median,
        p90=median * 2 if count >= 30 else None,
        p95=median * 2.5 if count >= 100 else None,
        p99=median * 4 if count >= 1000 else None,
        p999=None,
        count=count,
    )


def a_measurement(load: OpenLoad | ClosedLoad | float = 2.0, **changes: Any) -> Measurement:
    offered = OpenLoad(rate_rps=load) if isinstance(load, float) else load
    is_open = isinstance(offered, OpenLoad)
    rate_rps = offered.rate_rps if isinstance(offered, OpenLoad) else float(offered.users)
    ttft_s = 0.05 * (1 + rate_rps**2 / 8)
    values: dict[str, Any] = {
        "digest": f"digest-{offered.mode}-{offered.step}",
        "mode": offered.mode,
        "offered_rps": rate_rps if is_open else None,
        "users": None if isinstance(offered, OpenLoad) else offered.users,
        "achieved_rps": rate_rps * 0.99,
        "num_issued": 60,
        "num_completed": 59,
        "num_failed": 1,
        "failures": {"timeout": 1},
        "num_drained": 2,
        "warmup_s": 2.0,
        "window_s": 30.0,
        "drain_s": 1.0,
        "window_is_steady": True,
        "ttft_s": a_distribution(ttft_s, 59),
        "itl_s": a_distribution(0.01, 3000),
        "chunk_gap_s": a_distribution(0.01, 3000),
        "tpot_s": a_distribution(0.011, 59),
        "e2e_s": a_distribution(ttft_s + 0.6, 59),
        "ttft_from_intended_s": a_distribution(ttft_s * 1.05, 59),
        "e2e_from_intended_s": a_distribution(ttft_s + 0.61, 59),
        "input_tokens": a_distribution(200, 60),
        "output_tokens": a_distribution(50, 59),
        "output_tokens_source": "server",
        "output_tokens_per_s": rate_rps * 50,
        "requests_per_s": rate_rps * 0.98,
        "goodput_rps": rate_rps * (0.97 if rate_rps < 3 else 0.4),
        "slo_attainment": 0.97 if rate_rps < 3 else 0.4,
        "fidelity": Fidelity(
            verdict=Verdict.SOUND,
            reasons=(),
            dispatch_lag_s=a_distribution(0.0002, 60),
            loop_lag_s=a_distribution(0.0001, 300),
            client_cpu_ratio=0.1,
            achieved_to_offered_ratio=0.99,
            token_count_mismatch_ratio=0.0,
        ),
        "cache": CacheState(policy="salted", hit_ratio=0.2),
        "resources": Resources(host_memory_peak_bytes=GIB, host_cpu_cores=1.5, samples=150),
        "schedule_digest": "cafe0123",
        "content": "english",
        "length_scale": 0.25,
        "is_simulated": False,
        "started_at": "2027-01-15T08:00:00+00:00",
    }
    return Measurement(**(values | changes))


def an_evidence(measurements: tuple[Measurement, ...], *, seconds: int = 120) -> TrialEvidence:
    times_ns = np.arange(0, seconds * 5, dtype=np.int64) * (NS_PER_S // 5)
    growth = np.linspace(0.4, 0.9, times_ns.size)
    load = np.clip(np.sin(times_ns / NS_PER_S / 8), 0, 1)
    series = (
        Series("host_memory_bytes", "bytes", times_ns, growth * GIB),
        Series("kv_cache_utilization", "ratio", times_ns, load),
        Series("host_cpu_cores", "cores", times_ns, 2 * load),
    )
    began_s = 1_800_000_000  # 2027-01-15T08:00:00Z
    offset_ns = (began_s - 5) * NS_PER_S
    return TrialEvidence(Telemetry(series, 0.2), spans_of(measurements, wall_offset_ns=offset_ns), offset_ns)


def a_completed_trial(number: int = 0, loads: tuple[float, ...] = (1.0, 2.0, 4.0), **changes: Any) -> TrialRecord:
    measurements = tuple(
        a_measurement(load, started_at=f"2027-01-15T08:00:{index * 15:02d}+00:00", window_s=10.0, **changes)
        for index, load in enumerate(loads)
    )
    return TrialRecord(
        a_trial(number),
        {"argv": "python -m server --port 1", "start.token_s": "0.900"},
        measurements,
        Completed(measurements, 1.9 + number / 10),
        TrialTimes(wall_s=110.0, engine_start_s=1.0, replay_s=106.0),
        an_evidence(measurements, seconds=60),
    )


def a_record(**changes: Any) -> StudyRecord:
    failed = TrialRecord(a_trial(3), {}, (), Failed("engine hung"), TrialTimes(9.0, 1.0, 2.0))
    infeasible = TrialRecord(a_trial(2), {}, (), Infeasible("n_parallel: seen 4"), TrialTimes(0.1, 0.0, 0.0))
    values: dict[str, Any] = {
        "study_id": "demo-1",
        "spec": a_study(),
        "digest": a_study().digest,
        "versions": {"seatrial": "0.1.0", "python": "3.11"},
        "tags": {"hardware.cpu": "2 cores", "engine.llamacpp": "b1234"},
        "started_at": "2027-01-15T07:59:00+00:00",
        "ended_at": "2027-01-15T08:10:00+00:00",
        "trials": (a_completed_trial(0), a_completed_trial(1), infeasible, failed),
    }
    return StudyRecord(**(values | changes))
