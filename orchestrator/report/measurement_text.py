"""One measurement as text for a terminal; a percentile that the sample cannot carry says what it would need."""

from orchestrator.domain.measurement import Distribution, Measurement
from orchestrator.metrics.percentiles import requests_needed

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
LATENCIES = (
    ("TTFT from send", "ttft_s"),
    ("TTFT from intended arrival", "ttft_from_intended_s"),
    ("ITL", "itl_s"),
    ("TPOT", "tpot_s"),
    ("E2E from send", "e2e_s"),
    ("E2E from intended arrival", "e2e_from_intended_s"),
)


def measurement_text(measurement: Measurement) -> str:
    """Spell a measurement as aligned lines."""
    return "\n".join([*_load(measurement), "", *_latencies(measurement), "", *_verdicts(measurement)])


def _load(one: Measurement) -> list[str]:
    offered = f"{one.users} users" if one.offered_rps is None else f"{one.offered_rps:g} requests/s"
    failures = ", ".join(f"{kind.value} {count}" for kind, count in one.failures.items()) or "none"
    counts = f"{one.num_issued} issued, {one.num_completed} completed, {one.num_failed} failed"
    return [
        f"offered {offered}, achieved {one.achieved_rps:.4g} requests/s over {one.window_s:.4g} s"
        + (" (SIMULATED)" if one.is_simulated else ""),
        f"requests: {counts}; by kind: {failures}",
        f"throughput: {one.requests_per_s:.4g} requests/s, {one.output_tokens_per_s:.4g} output tokens/s",
        _slo(one),
    ]


def _slo(one: Measurement) -> str:
    if one.goodput_rps is None or one.slo_attainment is None:
        return "SLO: none stated, so no goodput"
    return f"goodput: {one.goodput_rps:.4g} requests/s, SLO met by {one.slo_attainment:.1%} of the requests issued"


def _latencies(one: Measurement) -> list[str]:
    heading = f"{'seconds':<28}" + "".join(f"{name:>12}" for name in ("mean", *PERCENTILES, "count"))
    return [heading, *(_row(label, getattr(one, field)) for label, field in LATENCIES)]


def _row(label: str, seen: Distribution) -> str:
    mean = "-" if seen.mean is None else f"{seen.mean:.4g}"
    cells = [mean, *(_cell(getattr(seen, name), share) for name, share in PERCENTILES.items()), str(seen.count)]
    return f"{label:<28}" + "".join(f"{cell:>12}" for cell in cells)


def _cell(value: float | None, share: float) -> str:
    return f"needs {requests_needed(share)}" if value is None else f"{value:.4g}"


def _verdicts(one: Measurement) -> list[str]:
    fidelity = one.fidelity
    reasons = f" ({'; '.join(fidelity.reasons)})" if fidelity.reasons else ""
    lag = fidelity.dispatch_lag_s
    steady = {True: "steady", False: "drifting", None: "too few requests to tell"}[one.window_is_steady]
    return [
        f"client: {fidelity.verdict.value}{reasons}; dispatch lag p50 {_seconds(lag.p50)}, p99 {_seconds(lag.p99)}",
        f"window: {steady}; warm-up {one.warmup_s:g} s, drain {one.drain_s:.3g} s",
        f"content: {one.content}, length scale {one.length_scale}; schedule {one.schedule_digest}",
        f"answers: {_ends(one)}",
    ]


def _ends(one: Measurement) -> str:
    stop = {"forced": "of forced length", "natural": "ended by the model", None: "ended as not recorded"}[one.stop]
    if one.num_ended_by_length is None:
        return f"{stop}; none told why it ended"
    return f"{stop}; {one.num_ended_by_length} cut at their limit, {one.num_ended_by_stop} stopped"


def _seconds(value: float | None) -> str:
    return "not enough samples" if value is None else f"{value * 1000:.3g} ms"
