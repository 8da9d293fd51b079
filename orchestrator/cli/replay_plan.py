"""What a replay will do, worked out before anything is sent: proxy, window, loads, workload, promise."""

from dataclasses import dataclass

from orchestrator.cli.output import say
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.slo import Slo
from orchestrator.domain.window import WindowSpec
from orchestrator.replay.proxy import environment_proxy
from workloads.workload import TraceSource, Workload

DEFAULT_DURATION_S = 30.0
DEFAULT_WARMUP_S = 2.0
PROXY_OF_ENVIRONMENT = "env"
LONGEST_S = 86_400.0  # of a closed loop that ends by its number of requests
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """Loads in the order in which they are offered; `requests` ends a window by count, None by time."""

    workload: Workload
    loads: tuple[OfferedLoad, ...]
    window: WindowSpec
    requests: int | None
    slo: Slo | None

    def planned_s(self, load: OfferedLoad) -> float:
        """Return about how long a load is offered; a closed loop by count, whose end nobody knows, counts as long."""
        spans = [self.window.measure_s]
        if self.requests is not None and isinstance(load, OpenLoad):
            spans.append(self.requests / load.rate_rps)
        return self.window.warmup_s + min(spans)


def window_of(
    duration_s: float | None,
    warmup_s: float | None,
    *,
    drain_s: float,
    timeout_s: float,
    keeps_going: bool,
    ends_by_count: bool,
    is_ramp: bool,
) -> WindowSpec:
    """Return the window that the options mean.

    Raises:
        InputError: a ramp is to be warmed up or counted.
    """
    if is_ramp and (ends_by_count or warmup_s):
        raise InputError("--ramp fills its window from the first second: leave out --requests and --warmup")
    is_plain = not (ends_by_count or is_ramp)
    longest_s = LONGEST_S if ends_by_count else DEFAULT_DURATION_S
    return WindowSpec(
        warmup_s=(DEFAULT_WARMUP_S if is_plain else 0.0) if warmup_s is None else warmup_s,
        measure_s=longest_s if duration_s is None else duration_s,
        drain_s=drain_s,
        request_timeout_s=timeout_s,
        stop_when_saturated=not keeps_going,
    )


def chosen_proxy(asked: str | None, url: str) -> str | None:
    """Return the proxy that is asked for; the environment's only where that is asked for, None to go straight."""
    if asked != PROXY_OF_ENVIRONMENT:
        return asked
    found = environment_proxy(url)
    if found is None:
        say("--proxy env: the environment names no proxy for this address; requests go straight")
    return found


def slo_of(ttft_s: float | None, tpot_s: float | None, e2e_s: float | None, *, attainment: float) -> Slo | None:
    """Return the promise, None where nothing is bounded."""
    if ttft_s is None and tpot_s is None and e2e_s is None:
        return None
    return Slo(ttft_s=ttft_s, tpot_s=tpot_s, e2e_s=e2e_s, attainment=attainment)


def settle(plan: ReplayPlan) -> ReplayPlan:
    """Fill in the load of a trace that is replayed at its own rate, and refuse what does not go together.

    Raises:
        InputError: no load is named, or the window by count cannot be had.
        TraceError: the trace cannot be read, or ends before the window does.
    """
    is_closed = any(isinstance(load, ClosedLoad) for load in plan.loads)
    if is_closed and plan.requests is not None and plan.window.warmup_s:
        raise InputError("--requests with --users counts from the start: leave out --warmup")
    if plan.loads:
        return plan
    if not isinstance(plan.workload.source, TraceSource):
        raise InputError("give --rate for an open loop, --users for a closed one, or --ramp")
    return _at_own_rate(plan, plan.workload.source)


def _at_own_rate(plan: ReplayPlan, source: TraceSource) -> ReplayPlan:
    from workloads.readers import read_trace  # noqa: PLC0415 - tables take half a second to import
    from workloads.trace_window import cut_window  # noqa: PLC0415

    window, trace = plan.window, read_trace(source.path, format=source.format, unit=source.unit)
    if plan.requests is None:
        span_s = window.warmup_s + window.measure_s
        source = source.model_copy(update={"duration_s": span_s})
        rate_rps = cut_window(trace, source, plan.workload.seed).rate_over(span_s)
    else:
        piece = cut_window(trace, source, plan.workload.seed)
        end_ns = _end_ns(piece.arrival_ns.tolist(), piece.length_ns, window.warmup_s, requests=plan.requests)
        span_s = end_ns / NS_PER_S
        rate_rps = piece.rate_over(span_s)
        window = window.model_copy(update={"measure_s": span_s - window.warmup_s})
    workload = plan.workload.model_copy(update={"source": source})
    return ReplayPlan(workload, (OpenLoad(rate_rps=rate_rps),), window, None, plan.slo)


def _end_ns(times: list[int], length_ns: int, warmup_s: float, *, requests: int) -> int:
    """Return when the request after the last counted one arrives, the trace's end where there is none."""
    before = sum(at < round(warmup_s * NS_PER_S) for at in times)
    if before + requests > len(times):
        raise InputError(f"--requests {requests}: the trace has {len(times) - before} from there on")
    return times[before + requests] if before + requests < len(times) else length_ns
