"""The flat names under which a measurement's values are tracked. A published contract: docs/METRICS.md lists them all.

Holds names only; no value is computed here.
"""

import math
from typing import get_args

from orchestrator.domain.distribution import Distribution, Part
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement, Rate, Resources
from orchestrator.domain.records import RequestFailure

SCALARS = (
    "offered_rps",
    "users",
    "achieved_rps",
    "num_issued",
    "num_completed",
    "num_failed",
    "num_drained",
    "num_ended_by_length",
    "num_ended_by_stop",
    "num_short",
    "num_long",
    "warmup_s",
    "window_s",
    "drain_s",
    "output_tokens_per_s",
    "requests_per_s",
    "goodput_rps",
    "slo_attainment",
)
DISTRIBUTIONS = tuple(name for name, field in Measurement.model_fields.items() if field.annotation is Distribution)
LAGS = ("dispatch_lag_s", "loop_lag_s", "queue_s", "arrival_error_s")
CLIENT = (
    "client_cpu_ratio",
    "achieved_to_offered_ratio",
    "token_count_mismatch_ratio",
    "bunched_chunk_ratio",
    "engine_ttft_difference_s",
    "clock_offset_s",
    "late_worker_s",
    "backlog_s",
    "workers",
)
STEADINESS = ("transient_s", "oversaturated_at_s")
CACHE = {
    "prefix_cache_hit_rate": "hit_ratio",
    "prefix_cache_asked_hit_rate": "asked_hit_ratio",
    "prefix_cache_expected_hit_rate": "expected_hit_ratio",
    "prefix_cache_checked_hit_rate": "checked_hit_ratio",
    "cache_policy_holds": "holds",
}
WHOLE_PARTS = ("mean", "p50", "p90", "p95", "p99", "p999", "count")
ENDS = ("low", "high")
RATE_UNITS = {
    "achieved_rps": "_rps",
    "goodput_rps": "_rps",
    "requests_per_s": "_per_s",
    "output_tokens_per_s": "_per_s",
}
RATES: tuple[Rate, ...] = get_args(Rate)
PARTS: tuple[Part, ...] = get_args(Part)
RESOURCES = tuple(name for name in Resources.model_fields if name != "samples")


def flatten(measurement: Measurement) -> dict[str, float]:
    """Flatten a measurement to finite numbers by published name; what is missing is left out.

    Verdicts count as 1 where the statement in the name holds, else 0.
    """
    fidelity, steady = measurement.fidelity, measurement.window_is_steady
    values: dict[str, float | None] = {name: getattr(measurement, name) for name in SCALARS}
    values |= {f"num_failed_{kind}": measurement.failures.get(kind, 0) for kind in RequestFailure}
    for name in DISTRIBUTIONS:
        values |= _flat(name, getattr(measurement, name))
        values |= _flat_intervals(name, getattr(measurement, name))
    for rate, interval in measurement.rate_intervals.items():
        values |= {flat_end(rate, end): getattr(interval, end) for end in ENDS}
    for name in LAGS:
        values |= _flat(name, getattr(fidelity, name))
    values |= {name: getattr(fidelity, name) for name in CLIENT}
    values |= {name: getattr(measurement.steadiness, name, None) for name in STEADINESS}
    values |= {name: getattr(measurement.cache, key) for name, key in CACHE.items()}
    values |= {name: getattr(measurement.resources, name) for name in RESOURCES}
    values["is_sound"] = fidelity.verdict is Verdict.SOUND
    values["is_valid"] = fidelity.verdict is not Verdict.INVALID
    values["window_is_steady"] = steady
    values["telemetry_samples"] = measurement.resources.samples
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def metric_names() -> tuple[str, ...]:
    """List every name that `flatten` may give, in order of the alphabet."""
    spread = [flat_name(name, part) for name in (*DISTRIBUTIONS, *LAGS) for part in WHOLE_PARTS]
    bounded = [flat_name(name, f"{part}_{end}") for name in DISTRIBUTIONS for part in PARTS for end in ENDS]
    effective = [flat_name(name, "effective_count") for name in DISTRIBUTIONS]
    rates = [flat_end(rate, end) for rate in RATES for end in ENDS]
    failures = [f"num_failed_{kind}" for kind in RequestFailure]
    verdicts = ["is_sound", "is_valid", "window_is_steady", "telemetry_samples"]
    single = [*SCALARS, *CLIENT, *STEADINESS, *CACHE, *RESOURCES]
    return tuple(sorted([*single, *failures, *spread, *bounded, *effective, *rates, *verdicts]))


def flat_name(name: str, part: str) -> str:
    """Name one part of a distribution: the unit stays last, as in `ttft_s` and `p50` giving `ttft_p50_s`.

    A count has no unit: `ttft_count`, `ttft_effective_count`.
    """
    stem = name.removesuffix("_s")
    unit = "_s" if stem != name and not part.endswith("count") else ""
    return f"{stem}_{part}{unit}"


def flat_end(rate: Rate, end: str) -> str:
    """Name one end of a rate's interval: `achieved_low_rps`, `requests_high_per_s`, `slo_attainment_low`."""
    unit = RATE_UNITS.get(rate, "")
    return f"{rate.removesuffix(unit)}_{end}{unit}"


def _flat(name: str, sample: Distribution | None) -> dict[str, float | None]:
    return {flat_name(name, part): getattr(sample, part, None) for part in WHOLE_PARTS}


def _flat_intervals(name: str, sample: Distribution) -> dict[str, float | None]:
    ends = {
        flat_name(name, f"{part}_{end}"): getattr(interval, end)
        for part, interval in sample.intervals.items()
        for end in ENDS
    }
    return ends | {flat_name(name, "effective_count"): sample.effective_count}
