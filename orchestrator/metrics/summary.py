"""From one replay's log to one measurement: puts the formulas together, holds none."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from orchestrator.domain.cache import CacheFacts
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.distribution import Distribution
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.domain.slo import Slo
from orchestrator.domain.telemetry import Telemetry
from orchestrator.metrics import columns, latency, lengths
from orchestrator.metrics import window as windows
from orchestrator.metrics.cache import cache_objections, cache_state
from orchestrator.metrics.fidelity import judge
from orchestrator.metrics.given_up import promise, settled
from orchestrator.metrics.intervals.pooled import pooled_distribution
from orchestrator.metrics.intervals.series import series_distribution
from orchestrator.metrics.resources import is_throttled, prefix_cache_hit_ratio, summarise_telemetry
from orchestrator.metrics.saturation import is_given_up
from orchestrator.metrics.steadiness import steadiness
from orchestrator.metrics.throughput import rate_intervals
from workloads.digest import digest
from workloads.workload import Stop

MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class MeasurementFacts:
    """What a replay's log does not know: whose measurement it is, of which traffic, under which cache policy.

    `length_scale` is the factor applied to the lengths, None where they are as recorded. `degraded_by` names what
    others saw that spoils the figures, such as a busy neighbour. `stop` says who ended the answers.
    `cache` says what the policy should lead to, None where nobody worked it out; `calibration` what the client can do.
    `measure_s` is the window as it was declared, None where nobody knows; a load that was given up has a shorter one.
    """

    trial_digest: str
    schedule_digest: str
    content: str
    length_scale: float | None
    cache_policy: str
    is_simulated: bool
    started_at: str
    warmup_s: float
    stop: Stop
    degraded_by: tuple[str, ...] = ()
    cache: CacheFacts | None = None
    calibration: Calibration | None = None
    measure_s: float | None = None


def measurement_digest(
    trial_digest: str,
    load: OfferedLoad,
    *,
    schedule_digest: str,
    warmup_s: float,
    measure_s: float,
    cache_policy: str,
    stop: Stop = "forced",
    given_up: bool = False,
) -> str:
    """Digest what makes two measurements interchangeable; known before measuring, so that resume can skip.

    The SLO is left out: it judges a measurement and does not change it. Spans count in whole milliseconds. A forced
    stop, the default, adds nothing; nor does a watch over the load, unless it gave the load up: then it is told, and
    `measure_s` is as long as was measured, since such a measurement stands for no whole one.
    """
    return digest(
        {
            "trial": trial_digest,
            "load": load.model_dump(mode="json"),
            "schedule": schedule_digest,
            "warmup_ms": round(warmup_s * MS_PER_S),
            "measure_ms": round(measure_s * MS_PER_S),
            "cache": cache_policy,
            **({"stop": stop} if stop != "forced" else {}),
            **({"given_up": True} if given_up else {}),
        }
    )


def summarise(
    log: ReplayLog, facts: MeasurementFacts, *, slo: Slo | None = None, telemetry: Telemetry | None = None
) -> Measurement:
    """Summarise a replay; latencies are over completed requests that were issued in the window.

    Raises:
        ValueError: the window is empty.
    """
    window = log.window
    if window.end_ns <= window.start_ns:
        raise ValueError(f"a window must end after it starts, seen {window}")
    issued = windows.issued_in(log.records, window)
    cache = cache_state(
        facts.cache or CacheFacts.of(facts.cache_policy),
        issued,
        hit_ratio=prefix_cache_hit_ratio(telemetry, issued, window),
    )
    failures = Counter(one.failure for one in issued if one.failure is not None)
    promised = promise(log, issued, slo, declared_s=facts.measure_s)
    steady = steadiness(log, issued)
    distributions = settled(_distributions(issued), steady)
    seen = columns.arrivals(log.records, window)
    return Measurement(
        digest=_digest(log, facts),
        mode=log.load.mode,
        offered_rps=log.load.rate_rps if isinstance(log.load, OpenLoad) else None,
        users=log.load.users if isinstance(log.load, ClosedLoad) else None,
        achieved_rps=seen.sent_ns.size / window.duration_s,
        num_issued=len(issued),
        num_completed=len(issued) - failures.total(),
        num_failed=failures.total(),
        failures=dict(sorted(failures.items())),
        num_drained=windows.drained(issued, window),
        warmup_s=facts.warmup_s,
        window_s=window.duration_s,
        drain_s=max(0, log.drained_ns - window.end_ns) / NS_PER_S,
        window_is_steady=windows.is_steady(issued),
        steadiness=steady,
        output_tokens_source=_source(issued),
        output_tokens_per_s=float(seen.tokens.sum()) / window.duration_s,
        requests_per_s=seen.completed_ns.size / window.duration_s,
        goodput_rps=promised.goodput_rps,
        slo_attainment=promised.slo_attainment,
        fidelity=judge(
            log,
            degraded_by=(*facts.degraded_by, *_throttled(log, telemetry), *cache_objections(cache)),
            telemetry=telemetry,
        ),
        cache=cache,
        calibration=facts.calibration,
        resources=summarise_telemetry(telemetry, window),
        schedule_digest=facts.schedule_digest,
        content=facts.content,
        stop=facts.stop,
        length_scale=facts.length_scale,
        is_simulated=facts.is_simulated,
        started_at=facts.started_at,
        rate_intervals={}
        if is_given_up(log)
        else rate_intervals(seen, issued, slo, window=window, latencies=distributions),
        **distributions,
        **_ends(issued),
        num_short=lengths.num_short(issued, facts.stop),
        num_long=lengths.num_long(issued, facts.stop),
    )


def _ends(issued: Sequence[RequestRecord]) -> dict[str, int | None]:
    """Count why completed requests ended; nothing is known where no answer told."""
    reasons = Counter(one.finish_reason for one in issued if one.failure is None and one.finish_reason is not None)
    names = {"num_ended_by_length": "length", "num_ended_by_stop": "stop"}
    return {name: reasons[reason] if reasons else None for name, reason in names.items()}


def _digest(log: ReplayLog, facts: MeasurementFacts) -> str:
    return measurement_digest(
        facts.trial_digest,
        log.load,
        schedule_digest=facts.schedule_digest,
        warmup_s=facts.warmup_s,
        measure_s=log.window.duration_s,
        cache_policy=facts.cache_policy,
        stop=facts.stop,
        given_up=is_given_up(log),
    )


def _throttled(log: ReplayLog, telemetry: Telemetry | None) -> Iterator[str]:
    if is_throttled(telemetry, log.window):
        yield "a device's clocks were held down in the window by heat, power cap or hardware brake"


def _distributions(issued: Sequence[RequestRecord]) -> dict[str, Distribution]:
    return {
        "ttft_s": _over(issued, latency.ttft_s),
        "itl_s": _pooled(issued, columns.itls_s),
        "chunk_gap_s": _pooled(issued, columns.chunk_gaps_s),
        "tpot_s": _over(issued, latency.tpot_s),
        "e2e_s": _over(issued, latency.e2e_s),
        "ttft_from_intended_s": _over(issued, latency.ttft_from_intended_s),
        "e2e_from_intended_s": _over(issued, latency.e2e_from_intended_s),
        "input_tokens": _over(issued, _input_tokens),
        "output_tokens": _over(issued, lambda one: one.output_tokens),
    }


def _over(issued: Iterable[RequestRecord], read: Callable[[RequestRecord], float | None]) -> Distribution:
    return series_distribution(
        np.fromiter((value for one in issued if (value := read(one)) is not None), dtype=np.float64)
    )


def _pooled(issued: Iterable[RequestRecord], read: Callable[[RequestRecord], columns.Floats]) -> Distribution:
    return pooled_distribution([read(one) for one in issued])


def _input_tokens(record: RequestRecord) -> int | None:
    """Return the prompt's length over completed requests: the server's own count, else the schedule's."""
    if record.failure is not None:
        return None
    return record.input_tokens if record.input_tokens_server is None else record.input_tokens_server


def _source(issued: Iterable[RequestRecord]) -> Literal["server", "client", "mixed"] | None:
    sources = {one.output_tokens_server is not None for one in issued if one.failure is None}
    match sorted(sources):
        case []:
            return None
        case [is_server]:
            return "server" if is_server else "client"
        case _:
            return "mixed"
