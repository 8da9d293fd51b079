"""The flat names under which a measurement's values are tracked. A published contract: docs/METRICS.md lists them all.

Holds names only; no value is computed here.
"""

import math

from orchestrator.domain.measurement import Distribution, Fidelity, Measurement, Resources, Verdict
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
    "warmup_s",
    "window_s",
    "drain_s",
    "output_tokens_per_s",
    "requests_per_s",
    "goodput_rps",
    "slo_attainment",
)
DISTRIBUTIONS = tuple(name for name, field in Measurement.model_fields.items() if field.annotation is Distribution)
LAGS = tuple(name for name, field in Fidelity.model_fields.items() if field.annotation is Distribution)
CLIENT_RATIOS = ("client_cpu_ratio", "achieved_to_offered_ratio", "token_count_mismatch_ratio")
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
    for name in LAGS:
        values |= _flat(name, getattr(fidelity, name))
    values |= {name: getattr(fidelity, name) for name in CLIENT_RATIOS}
    values |= {name: getattr(measurement.resources, name) for name in RESOURCES}
    values["is_sound"] = fidelity.verdict is Verdict.SOUND
    values["is_valid"] = fidelity.verdict is not Verdict.INVALID
    values["window_is_steady"] = steady
    values["prefix_cache_hit_rate"] = measurement.cache.hit_ratio
    values["telemetry_samples"] = measurement.resources.samples
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def metric_names() -> tuple[str, ...]:
    """List every name that `flatten` may give, in order of the alphabet."""
    spread = [flat_name(name, part) for name in (*DISTRIBUTIONS, *LAGS) for part in Distribution.model_fields]
    failures = [f"num_failed_{kind}" for kind in RequestFailure]
    verdicts = ["is_sound", "is_valid", "window_is_steady", "prefix_cache_hit_rate", "telemetry_samples"]
    return tuple(sorted([*SCALARS, *failures, *spread, *CLIENT_RATIOS, *RESOURCES, *verdicts]))


def flat_name(name: str, part: str) -> str:
    """Name one part of a distribution: the unit stays last, as in `ttft_s` and `p50` giving `ttft_p50_s`.

    A count has no unit: `ttft_count`.
    """
    stem = name.removesuffix("_s")
    unit = "_s" if stem != name and part != "count" else ""
    return f"{stem}_{part}{unit}"


def _flat(name: str, sample: Distribution) -> dict[str, float | None]:
    return {flat_name(name, part): getattr(sample, part) for part in Distribution.model_fields}
