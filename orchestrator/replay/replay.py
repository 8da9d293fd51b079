"""The two ways to offer a load: an open loop on a schedule, a closed loop of users."""

import math
import threading
from bisect import bisect_left
from collections.abc import Sequence

from adapters.openai import Dialect
from orchestrator.domain.clock import Clock, SystemClock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.replay.flow import Monitor, RecordSink, RequestFeed
from orchestrator.replay.issue import ClosedIssuer, OpenIssuer
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.quiet import ensure_descriptors, pinned
from orchestrator.replay.session import Session, Timing
from orchestrator.replay.watch import ns

WARM_LATENCY_S = 0.1
MAX_WARM = 512
POISSON_DEVIATIONS = 4


def replay_open(  # noqa: PLR0913 - each says one thing of a replay, all but four may stay unsaid
    requests: Sequence[PreparedRequest],
    endpoint: Endpoint,
    *,
    load: OpenLoad,
    timing: Timing,
    clock: Clock | None = None,
    dialect: Dialect | None = None,
    cpus: Sequence[int] | None = None,
    stop: threading.Event | None = None,
    start_ns: int | None = None,
    feed: RequestFeed | None = None,
    sink: RecordSink | None = None,
    monitor: Monitor | None = None,
    stays_awake: bool = False,
) -> ReplayLog:
    """Send requests at absolute times, `offset_ns` after the start, whatever the server does.

    Blocks the calling thread, which must not run an event loop. `cpus` pins that thread; `stop` ends the replay early;
    `start_ns` gives several clients a common start. After `requests` come those of `feed`; records go to `sink`, or
    stand in the log where there is none; `monitor` may end the load early, which `early_stop` of the log then tells.
    `stays_awake` keeps the thread from sleeping, for a core that it has to itself: waking up takes longer than waiting.

    Raises:
        InputError: endpoint or cores are of no use.
        MeasurementRefusedError: the machine cannot hold as many connections as a hanging server would need.
    """
    ensure_descriptors(_most_in_flight(requests, timing) if feed is None else _expected_in_flight(load, timing))
    session = Session(
        requests=requests,
        endpoint=endpoint,
        load=load,
        timing=timing,
        dialect=dialect or Dialect(),
        clock=clock or SystemClock(),
        make_issuer=OpenIssuer,
        warm_connections=min(MAX_WARM, math.ceil(load.rate_rps * WARM_LATENCY_S)),
        stop=stop,
        start_ns=start_ns,
        feed=feed,
        sink=sink,
        monitor=monitor,
        stays_awake=stays_awake,
    )
    with pinned(cpus):
        return session.run()


def replay_closed(  # noqa: PLR0913 - as in `replay_open`
    requests: Sequence[PreparedRequest],
    endpoint: Endpoint,
    *,
    load: ClosedLoad,
    timing: Timing,
    clock: Clock | None = None,
    dialect: Dialect | None = None,
    cpus: Sequence[int] | None = None,
    stop: threading.Event | None = None,
    start_ns: int | None = None,
    feed: RequestFeed | None = None,
    sink: RecordSink | None = None,
    monitor: Monitor | None = None,
    stays_awake: bool = False,
) -> ReplayLog:
    """Keep `load.users` requests in flight: a user asks again when its answer has ended, taking the next request.

    A request's intended time is the moment its user became free. Where the requests are used up, the window ends.
    `feed`, `sink`, `monitor` and `stays_awake` are those of `replay_open`.

    Raises:
        InputError: endpoint or cores are of no use.
        MeasurementRefusedError: too few descriptors, or the requests ran out before the window.
    """
    ensure_descriptors(load.users)
    session = Session(
        requests=requests,
        endpoint=endpoint,
        load=load,
        timing=timing,
        dialect=dialect or Dialect(),
        clock=clock or SystemClock(),
        make_issuer=lambda supply, client, now: ClosedIssuer(supply, client, now, users=load.users),
        warm_connections=load.users,
        stop=stop,
        start_ns=start_ns,
        feed=feed,
        sink=sink,
        monitor=monitor,
        stays_awake=stays_awake,
    )
    with pinned(cpus):
        return session.run()


def _most_in_flight(requests: Sequence[PreparedRequest], timing: Timing) -> int:
    """Return how many requests a server that never answers would hold at once: the fullest span of one timeout."""
    end_ns = ns(timing.warmup_s + timing.measure_s)
    offsets = sorted(one.offset_ns for one in requests if one.offset_ns < end_ns)
    span_ns = ns(timing.request_timeout_s)
    return max((index + 1 - bisect_left(offsets, at - span_ns) for index, at in enumerate(offsets)), default=0)


def _expected_in_flight(load: OpenLoad, timing: Timing) -> int:
    """Return the same where the times are not known beforehand: four deviations above the mean of a Poisson count."""
    mean = load.rate_rps * min(timing.request_timeout_s, timing.warmup_s + timing.measure_s)
    return math.ceil(mean + POISSON_DEVIATIONS * math.sqrt(mean))
