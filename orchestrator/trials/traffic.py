"""From a workload and one offered load to encoded requests and their replay; the same for trials and for strangers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from adapters.openai import Dialect, Route
from adapters.protocol import Capabilities
from orchestrator.domain.clock import Clock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.domain.window import WindowSpec
from orchestrator.replay import PreparedRequest, Timing, replay_closed, replay_open, served_models
from orchestrator.replay.encoding import EncodedRequests
from orchestrator.replay.flow import Monitor
from orchestrator.replay.saturation import SaturationMonitor
from orchestrator.replay.workers import Crew, Launch, launch_process, replay_shared
from workloads.prompts import ENGLISH_TOKENS_PER_CHARACTER, PromptMaker, prompt_maker
from workloads.schedule import Schedule, build_closed_schedule, build_open_schedule
from workloads.workload import Stop, Workload

CLOSED_REQUESTS_PER_USER_S = 20  # more than a user of any engine asks in a second: a closed loop must not run dry
CLOSED_REQUESTS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Target:
    """Who is asked and how: the endpoint, what its server can do, and the tokenizer of its model where there is one.

    Without one, prompts are text, sized by `tokens_per_character`; the server's own counts are what is recorded.
    """

    endpoint: Endpoint
    capabilities: Capabilities
    tokenizer: Path | None
    tokens_per_character: float = ENGLISH_TOKENS_PER_CHARACTER

    def dialect(self, route: Route) -> Dialect:
        """Return how the target is spoken to; without a tokenizer nobody can send it token ids."""
        if self.tokenizer is None:
            return Dialect(route, replace(self.capabilities, accepts_token_prompts=False))
        return Dialect(route, self.capabilities)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one load sends: the schedule and its requests, encoded when read; `stop` says who ends the answers."""

    schedule: Schedule
    requests: Sequence[PreparedRequest]
    stop: Stop


def schedule_for(workload: Workload, load: OfferedLoad, window: WindowSpec) -> Schedule:
    """Build the schedule of one load; equal for all trials of a study (common random numbers).

    Raises:
        TraceError: the workload's trace cannot carry the load for that long.
    """
    span_s = window.warmup_s + window.measure_s
    match load:
        case OpenLoad(rate_rps=rate_rps):
            return build_open_schedule(workload, rate_rps=rate_rps, duration_s=span_s)
        case ClosedLoad(users=users):
            num_requests = min(CLOSED_REQUESTS_MAX, round(users * span_s * CLOSED_REQUESTS_PER_USER_S))
            return build_closed_schedule(workload, num_requests=max(num_requests, users))


@lru_cache(maxsize=4)
def prompts_of(workload: Workload, tokenizer: Path | None, tokens_per_character: float) -> PromptMaker:
    """Make the maker of a workload's prompts, once a process: reading a tokenizer and a corpus takes a second."""
    return prompt_maker(workload, tokenizer=tokenizer, tokens_per_character=tokens_per_character)


def traffic_for(workload: Workload, load: OfferedLoad, window: WindowSpec, *, target: Target, salt: str) -> Traffic:
    """Make the schedule of one load and its requests for one target."""
    schedule = schedule_for(workload, load, window)
    stop = stop_of(workload, target.capabilities)
    requests = EncodedRequests(
        schedule,
        prompts_of(workload, target.tokenizer, target.tokens_per_character),
        endpoint=target.endpoint,
        dialect=target.dialect(workload.dialect),
        salt=salt,
        seed=workload.seed,
        forces_length=stop == "forced",
    )
    return Traffic(schedule, requests, stop)


def stop_of(workload: Workload, capabilities: Capabilities) -> Stop:
    """Say who ends the answers: the model, where the workload wants it so or the server cannot be told otherwise."""
    return "natural" if capabilities.output_length_control is None else workload.stop


def check_lora(workload: Workload, endpoint: Endpoint) -> None:
    """Return when the server serves every LoRA adapter that the workload asks.

    Raises:
        MeasurementRefusedError: it serves others, which are listed.
        InputError: the server does not answer.
    """
    if not workload.lora:
        return
    served = served_models(endpoint.base_url, endpoint.key, proxy=endpoint.proxy)
    missing = sorted(workload.lora.keys() - set(served))
    if missing:
        raise MeasurementRefusedError(
            f"workload.lora asks {', '.join(missing)}, which the engine does not serve; it serves {', '.join(served)}"
        )


def offer(  # noqa: PLR0913 - what may differ between two loads, named
    traffic: Traffic,
    load: OfferedLoad,
    window: WindowSpec,
    *,
    target: Target,
    route: Route,
    clock: Clock,
    cpus: tuple[int, ...] | None,
    workers: int | None = None,
    launch: Launch | None = None,
    records_path: Path | None = None,
    monitor: Monitor | None = None,
    stays_awake: bool = False,
) -> ReplayLog:
    """Replay one load.

    `workers` processes send, None: one a core that `cpus` names, else one. One of them sends from this process, kept on
    `cpus`; several, or what `launch` starts on other nodes, are processes of their own with a core each. With
    `records_path` a process of its own sends in any case, and records go to that file while they come; the log's are
    then read from it. `monitor` may end the load early; None: an open loop is ended where it outgrows the server, if
    the window says so. `stays_awake` is for cores that the client has to itself.

    Raises:
        InputError: endpoint or cores are of no use.
        MeasurementRefusedError: the client cannot carry the load, or a worker did not get ready.
    """
    timing = Timing(
        warmup_s=window.warmup_s,
        measure_s=window.measure_s,
        drain_s=window.drain_s,
        request_timeout_s=window.request_timeout_s,
    )
    dialect, to = target.dialect(route), target.endpoint
    if monitor is None and window.stop_when_saturated and isinstance(load, OpenLoad):
        monitor = SaturationMonitor(load.rate_rps)
    count = workers or len(cpus or (None,))
    if count > 1 or launch is not None or records_path is not None:
        return replay_shared(
            traffic.requests,
            to,
            load=load,
            timing=timing,
            crew=Crew(count, cpus, launch or launch_process, stays_awake=stays_awake),
            dialect=dialect,
            monitor=monitor,
            records_path=records_path,
        )
    replay: Callable[..., ReplayLog] = replay_open if isinstance(load, OpenLoad) else replay_closed
    requests = tuple(traffic.requests)
    return replay(
        requests,
        to,
        load=load,
        timing=timing,
        clock=clock,
        dialect=dialect,
        cpus=cpus,
        monitor=monitor,
        stays_awake=stays_awake,
    )
