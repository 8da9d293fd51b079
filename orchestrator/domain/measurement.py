"""One measurement: what one deployment did at one offered load. The JSON form is a published contract."""

from typing import Literal

from pydantic import ConfigDict, Field, FiniteFloat

from orchestrator.domain.cache import CacheState
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.distribution import Distribution, Interval
from orchestrator.domain.fidelity import Fidelity
from orchestrator.domain.published import Published
from orchestrator.domain.records import RequestFailure
from orchestrator.domain.steadiness import Steadiness

SCHEMA: Literal["seatrial.measurement/1"] = "seatrial.measurement/1"
Rate = Literal["achieved_rps", "output_tokens_per_s", "requests_per_s", "goodput_rps", "slo_attainment"]


class Resources(Published):
    """What the engine used in the window, from telemetry; None where it could not be read."""

    host_memory_peak_bytes: int | None = None
    host_cpu_cores: FiniteFloat | None = None
    kv_cache_utilization_mean: FiniteFloat | None = None
    kv_cache_utilization_peak: FiniteFloat | None = None
    requests_running_mean: FiniteFloat | None = None
    requests_running_peak: FiniteFloat | None = None
    requests_waiting_mean: FiniteFloat | None = None
    requests_waiting_peak: FiniteFloat | None = None
    preemptions: FiniteFloat | None = None
    device_memory_peak_bytes: int | None = None
    device_utilization_mean: FiniteFloat | None = None
    samples: int = 0


class Measurement(Published):
    """What one deployment did at one offered load; seconds, tokens, requests; missing is null, never 0."""

    schema_: Literal["seatrial.measurement/1"] = Field(default=SCHEMA, alias="schema")
    digest: str = Field(description="of trial, load, schedule and window: equal digests mean the same measurement")
    mode: Literal["open", "closed"]
    offered_rps: FiniteFloat | None = Field(description="None in closed loop")
    users: int | None = Field(description="None in open loop")
    achieved_rps: FiniteFloat = Field(description="requests sent in the window over its length")
    num_issued: int
    num_completed: int
    num_failed: int
    failures: dict[RequestFailure, int]
    num_drained: int = Field(description="requests of the window that ended after it")
    warmup_s: FiniteFloat
    window_s: FiniteFloat
    drain_s: FiniteFloat
    window_is_steady: bool | None = Field(description="whether a trend test found no drift; None: too few to tell")
    ttft_s: Distribution
    itl_s: Distribution
    chunk_gap_s: Distribution
    tpot_s: Distribution
    e2e_s: Distribution
    ttft_from_intended_s: Distribution
    e2e_from_intended_s: Distribution
    input_tokens: Distribution
    output_tokens: Distribution
    output_tokens_source: Literal["server", "client", "mixed"] | None
    output_tokens_per_s: FiniteFloat
    requests_per_s: FiniteFloat
    goodput_rps: FiniteFloat | None = Field(description="None where no SLO was stated")
    slo_attainment: FiniteFloat | None = Field(description="over requests issued; None where no SLO was stated")
    fidelity: Fidelity
    cache: CacheState
    resources: Resources
    schedule_digest: str
    content: str = Field(description="kind of prompt content: english, corpus, random")
    stop: Literal["forced", "natural"] | None = Field(
        default=None, description="who ended the answers: the scheduled length, or the model; None: not recorded"
    )
    num_ended_by_length: int | None = Field(
        default=None, description="completed requests cut at max_tokens; None where no answer told why it ended"
    )
    num_ended_by_stop: int | None = Field(
        default=None, description="completed requests that the model ended; None where no answer told why it ended"
    )
    num_short: int | None = Field(
        default=None, description="completed requests with fewer output tokens than asked; None unless stop is forced"
    )
    num_long: int | None = Field(
        default=None, description="completed requests with more output tokens than asked; None unless stop is forced"
    )
    length_scale: FiniteFloat | None = Field(description="factor applied to the traffic's lengths; None: as recorded")
    rate_intervals: dict[Rate, Interval] = Field(
        default_factory=dict, description="95 % intervals of rates and shares that respect dependence in time"
    )
    steadiness: Steadiness | None = Field(default=None, description="None: not searched for")
    calibration: Calibration | None = Field(default=None, description="the client's own limits; None: not measured")
    is_simulated: bool
    started_at: str = Field(description="UTC, ISO 8601")

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @property
    def step(self) -> int:
        """Return the load as MLflow's integer step: milli-requests/s, or users in closed loop."""
        return self.users if self.users is not None else round((self.offered_rps or 0.0) * 1000)

    def to_json(self) -> str:
        """Spell the measurement in its published form, one line."""
        return self.model_dump_json(by_alias=True)
