"""Cuts a load to a number of requests instead of a span of time."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.window import WindowSpec
from orchestrator.trials.traffic import CLOSED_REQUESTS_PER_USER_S, Traffic
from workloads.schedule import Schedule

SIGMAS = 4
TRIES = 6


def counted(
    make: Callable[[WindowSpec], Traffic], load: OfferedLoad, window: WindowSpec, *, requests: int
) -> tuple[Traffic, WindowSpec]:
    """Return traffic and the window in which exactly so many requests are issued.

    In an open loop the window ends where the next request would have arrived, so that its length is what the arrivals
    made it. In a closed loop it ends by itself when a user finds no request left. `window.measure_s` is not used in an
    open loop, and is the longest that it may take in a closed one.

    Raises:
        MeasurementRefusedError: the arrivals do not bring so many, or a closed loop has fewer requests than users.
    """
    if isinstance(load, ClosedLoad):
        return _closed(make, load, window, requests=requests), window
    return _open(make, load, window, requests=requests)


def _closed(make: Callable[[WindowSpec], Traffic], load: ClosedLoad, window: WindowSpec, *, requests: int) -> Traffic:
    if requests < load.users:
        raise MeasurementRefusedError(f"{requests} requests for {load.users} users: give each user at least one")
    span_s = requests / (load.users * CLOSED_REQUESTS_PER_USER_S)
    made = make(window.model_copy(update={"warmup_s": 0.0, "measure_s": span_s}))
    if len(made.requests) < requests:
        raise MeasurementRefusedError(f"a closed loop makes {len(made.requests)} requests at most, asked {requests}")
    return replace(made, requests=made.requests[:requests])


def _open(
    make: Callable[[WindowSpec], Traffic], load: OpenLoad, window: WindowSpec, *, requests: int
) -> tuple[Traffic, WindowSpec]:
    span_s = requests / load.rate_rps
    for _ in range(TRIES):
        made = make(window.model_copy(update={"measure_s": span_s}))
        end_s = _end_s(made.schedule, window, requests=requests, span_s=span_s)
        if end_s is not None:
            return made, window.model_copy(update={"measure_s": end_s - window.warmup_s})
        span_s *= 1 + SIGMAS / math.sqrt(requests)
    raise MeasurementRefusedError(
        f"expected {requests} requests within {span_s:.4g} s at {load.rate_rps:g} requests/s, seen fewer: "
        "the traffic's rate varies too much for a window by count; give its length instead"
    )


def _end_s(schedule: Schedule, window: WindowSpec, *, requests: int, span_s: float) -> float | None:
    """Return when the window ends, seconds from the load's start; None where fewer requests arrive."""
    times = schedule.intended_ns
    if times is None:
        return None
    before = int(np.searchsorted(times, round(window.warmup_s * NS_PER_S)))
    if len(times) - before == requests:
        return window.warmup_s + span_s
    return float(times[before + requests]) / NS_PER_S if len(times) - before > requests else None
