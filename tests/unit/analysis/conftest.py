"""Measurements with chosen goodput and attainment; everything else is absent or plain."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.domain.cache import CacheState
from orchestrator.domain.distribution import Distribution
from orchestrator.domain.fidelity import Fidelity, Verdict
from orchestrator.domain.measurement import Measurement, Resources

ABSENT = Distribution(mean=None, p50=None, p90=None, p95=None, p99=None, p999=None, count=0)
LATENCIES = ("ttft_s", "itl_s", "chunk_gap_s", "tpot_s", "e2e_s", "ttft_from_intended_s", "e2e_from_intended_s")


def make_measurement(
    rate_rps: float,
    *,
    attainment: float | None = 1.0,
    goodput_rps: float | None = None,
    verdict: Verdict = Verdict.SOUND,
    **changes: object,
) -> Measurement:
    """One measurement at a rate whose schedule hit it exactly; goodput follows from attainment."""
    values: dict[str, Any] = {
        "digest": f"at-{rate_rps}",
        "mode": "open",
        "offered_rps": rate_rps,
        "users": None,
        "achieved_rps": rate_rps,
        "num_issued": 100,
        "num_completed": 100,
        "num_failed": 0,
        "failures": {},
        "num_drained": 0,
        "warmup_s": 0.0,
        "window_s": 10.0,
        "drain_s": 0.0,
        "window_is_steady": None,
        **dict.fromkeys((*LATENCIES, "input_tokens", "output_tokens"), ABSENT),
        "output_tokens_source": None,
        "output_tokens_per_s": 20 * rate_rps,
        "requests_per_s": rate_rps,
        "goodput_rps": rate_rps * attainment if goodput_rps is None and attainment is not None else goodput_rps,
        "slo_attainment": attainment,
        "fidelity": Fidelity(
            verdict=verdict,
            reasons=() if verdict is Verdict.SOUND else ("made so",),
            dispatch_lag_s=ABSENT,
            loop_lag_s=ABSENT,
            client_cpu_ratio=None,
            achieved_to_offered_ratio=None,
            token_count_mismatch_ratio=None,
        ),
        "cache": CacheState(policy="salted", hit_ratio=None),
        "resources": Resources(),
        "schedule_digest": "s",
        "content": "english",
        "length_scale": None,
        "is_simulated": False,
        "started_at": "2030-01-01T00:00:00+00:00",
    }
    return Measurement(**(values | changes))


@pytest.fixture
def measurement() -> Callable[..., Measurement]:
    return make_measurement
