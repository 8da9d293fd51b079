"""Arrivals of several kinds and how they are offered: what healthy and sabotaged runs share."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from adapters.openai import Dialect, Route, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.replay import PreparedRequest, Timing, replay_closed, replay_open
from tests.ruler.programs import cores

NS_PER_S = 1_000_000_000
WARMUP_S, MEASURE_S = 0.3, 1.0
RATE_RPS = 200
CLOSED_REQUESTS = 4000
PROMPT = list(range(40))

Arrivals = Callable[[float, np.random.Generator], np.ndarray]


def steady(rate_rps: float) -> Arrivals:
    return lambda span_s, _: np.arange(0, span_s, 1 / rate_rps)


def poisson(rate_rps: float) -> Arrivals:
    return lambda span_s, rng: np.sort(rng.uniform(0, span_s, rng.poisson(rate_rps * span_s)))


def gusts(rate_rps: float) -> Arrivals:
    """All of each second's arrivals in its first fifth."""
    return lambda span_s, _: (at := np.arange(0, span_s, 1 / rate_rps)) // 1 + at % 1 / 5


def grid(at_once: int, step_s: float) -> Arrivals:
    """As many at once on each step, as in a trace whose times are coarse."""
    return lambda span_s, _: np.repeat(np.arange(0, span_s, step_s), at_once)


OPEN: Mapping[str, tuple[float, Arrivals]] = {
    "steady": (20, steady(20)),
    "poisson": (100, poisson(100)),
    "gusts": (60, gusts(60)),
    "grid": (50, grid(10, 0.2)),
}


def requests(offsets_s: Sequence[float] | np.ndarray, *, tokens: int, route: Route) -> list[PreparedRequest]:
    prompt = PROMPT if route == "completions" else " ".join(map(str, PROMPT))
    body = encode_request(prompt, "simulated", dialect=dialect(route), max_tokens=tokens)
    return [
        PreparedRequest(at, round(offset_s * NS_PER_S), body, len(PROMPT), tokens)
        for at, offset_s in enumerate(offsets_s)
    ]


def offer(
    port: int,
    load: OfferedLoad,
    arrivals: Arrivals | None = None,
    *,
    measure_s: float,
    tokens: int = 16,
    route: Route = "completions",
    timeout_s: float = 10.0,
    drain_s: float = 2.0,
) -> ReplayLog:
    """Replay from the client's core; a load is closed where it says so, else arrives as told, steadily if not."""
    timing = Timing(WARMUP_S, measure_s, drain_s, timeout_s)
    if isinstance(load, ClosedLoad):
        asked = requests(np.zeros(CLOSED_REQUESTS), tokens=tokens, route=route)
        return replay_closed(asked, endpoint(port), load=load, timing=timing, dialect=dialect(route), cpus=cores()[0])
    offsets_s = (arrivals or steady(load.rate_rps))(WARMUP_S + measure_s, np.random.default_rng(5))
    return replay_open(
        requests(offsets_s, tokens=tokens, route=route),
        endpoint(port),
        load=OpenLoad(rate_rps=load.rate_rps),
        timing=timing,
        dialect=dialect(route),
        cpus=cores()[0],
    )


def endpoint(port: int) -> Endpoint:
    return Endpoint(f"http://127.0.0.1:{port}", "simulated")


def offered(port: int) -> ReplayLog:
    """Offer what every sabotage is done to."""
    return offer(port, OpenLoad(rate_rps=RATE_RPS), measure_s=MEASURE_S, drain_s=0.5)


def dialect(route: Route) -> Dialect:
    return Dialect(route, Capabilities(output_length_control="ignore_eos"))
