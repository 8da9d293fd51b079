"""From a study's workload and one offered load to encoded requests, the same for every trial of the study."""

from dataclasses import dataclass

from workloads.prompts import prompt_maker
from workloads.schedule import Schedule, build_closed_schedule, build_open_schedule

from adapters.protocol import Capabilities, ModelRef
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.study import StudySpec
from orchestrator.replay.prepare import PreparedRequest, prepare

CLOSED_REQUESTS_PER_USER_S = 20  # more than a user of any engine asks in a second: a closed loop must not run dry
CLOSED_REQUESTS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one load sends: the schedule and its requests, encoded."""

    schedule: Schedule
    requests: tuple[PreparedRequest, ...]


def schedule_for(study: StudySpec, load: OfferedLoad) -> Schedule:
    """Build the schedule of one load; equal for all trials of a study (common random numbers)."""
    span_s = study.window.warmup_s + study.window.measure_s
    match load:
        case OpenLoad(rate_rps=rate_rps):
            return build_open_schedule(study.workload, rate_rps=rate_rps, duration_s=span_s)
        case ClosedLoad(users=users):
            num_requests = min(CLOSED_REQUESTS_MAX, round(users * span_s * CLOSED_REQUESTS_PER_USER_S))
            return build_closed_schedule(study.workload, num_requests=max(num_requests, users))


def traffic_for(
    study: StudySpec, load: OfferedLoad, *, model: ModelRef, endpoint: Endpoint, capabilities: Capabilities, salt: str
) -> Traffic:
    """Encode the requests of one load for one endpoint."""
    schedule = schedule_for(study, load)
    prompts = prompt_maker(study.workload, tokenizer=model.tokenizer_path)
    requests = prepare(
        schedule, prompts, endpoint=endpoint, capabilities=capabilities, dialect=study.workload.dialect, salt=salt
    )
    return Traffic(schedule, requests)


def salt_for(study: StudySpec, load: OfferedLoad) -> str:
    """Name the salt of a load: one a load under `salted`, one for all otherwise."""
    return f"{study.seed}/{load.mode}/{load.step}" if study.cache == "salted" else f"{study.seed}"
