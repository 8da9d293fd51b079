"""A queue of several servers fed by an open loop, as arrays of times: what a monitor is held against. Seconds."""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator.replay.saturation import SaturationMonitor

Floats = NDArray[np.float64]
FIRST_TOKEN_SHARE = 0.1
WARMUP_S = 5.0
LOOK_S = 0.1
NS_PER_S = 1_000_000_000


class Load(NamedTuple):
    """Arrivals of a pattern at a mean rate, at `utilization` of what `servers` can carry; service is lognormal."""

    pattern: str
    rate_rps: float
    utilization: float
    servers: int
    seed: int
    service_cv: float = 0.5
    period_s: float = 20.0


def arrivals(load: Load, span_s: float) -> Floats:
    """Draw arrivals: constant, poisson, bursty (gamma gaps of CV 2), on_off (twice the rate half of the time)."""
    generator = np.random.default_rng((load.seed, 1))
    count, gap_s = int(load.rate_rps * span_s * 1.6) + 200, 1 / load.rate_rps
    match load.pattern:
        case "constant":
            times = np.arange(1, count + 1) * gap_s
        case "poisson":
            times = np.cumsum(generator.exponential(gap_s, count))
        case "bursty":
            times = np.cumsum(generator.gamma(0.25, 4 * gap_s, count))
        case "on_off":
            busy = np.cumsum(generator.exponential(gap_s / 2, count))
            times = busy + np.floor(busy / load.period_s) * load.period_s - generator.uniform(0, 2 * load.period_s)
        case _:
            raise ValueError(load.pattern)
    return times[(times >= 0) & (times < span_s)]


def service(load: Load, count: int) -> Floats:
    """Draw service times of the mean that the utilization asks for."""
    generator = np.random.default_rng((load.seed, 2))
    mean_s = load.servers * load.utilization / load.rate_rps
    if load.service_cv == 0:
        return np.full(count, mean_s)
    variance = np.log1p(load.service_cv**2)
    return generator.lognormal(np.log(mean_s) - variance / 2, np.sqrt(variance), count)


def serve(
    came: Floats, needs: Floats, *, servers: int, stall_s: tuple[float, float] | None = None
) -> tuple[Floats, Floats]:
    """Serve in order of arrival; return begins and ends. In a stall nothing begins and nothing goes on."""
    free = [0.0] * servers
    began, ended = np.empty_like(came), np.empty_like(came)
    for at, (arrival, need) in enumerate(zip(came, needs, strict=True)):
        begin = max(arrival, heapq.heappop(free))
        if stall_s is not None and stall_s[0] <= begin < stall_s[1]:
            begin = stall_s[1]
        end = begin + need
        if stall_s is not None and begin < stall_s[0] < end:
            end += stall_s[1] - stall_s[0]
        began[at], ended[at] = begin, end
        heapq.heappush(free, end)
    return began, ended


def monitored(
    load: Load, *, span_s: float, stall_s: tuple[float, float] | None = None
) -> tuple[float | None, str | None]:
    """Return when a monitor gives a load up, seconds after its window's start, and why."""
    came = arrivals(load, WARMUP_S + span_s)
    needs = service(load, came.size)
    began, ended = serve(came, needs, servers=load.servers, stall_s=stall_s)
    waits = began - came + FIRST_TOKEN_SHARE * needs
    return drive(SaturationMonitor(load.rate_rps), list(zip(came, waits, ended, strict=True)), span_s=span_s)


def drive(
    monitor: SaturationMonitor, requests: Sequence[tuple[float, float | None, float]], *, span_s: float
) -> tuple[float | None, str | None]:
    """Tell a monitor of requests (arrival, wait for the first token, end) as a replay would; its window follows 5 s."""
    came = np.sort([one[0] for one in requests])
    ends = sorted((end, arrival, wait) for arrival, wait, end in requests)
    left = np.array([one[0] for one in ends])
    told = 0
    for now in np.arange(WARMUP_S, WARMUP_S + span_s, LOOK_S):
        while told < len(ends) and ends[told][0] <= now:
            end, arrival, wait = ends[told]
            told += 1
            monitor.ended(
                intended_ns=round(arrival * NS_PER_S),
                ttft_ns=None if wait is None else round(wait * NS_PER_S),
                end_ns=round(end * NS_PER_S),
            )
        in_flight = int(np.searchsorted(came, now, "right") - np.searchsorted(left, now, "right"))
        reason = monitor.give_up(round(now * NS_PER_S), in_flight)
        if reason is not None:
            return float(now - WARMUP_S), reason
    return None, None
