"""What `seatrial profile` says of a trace: a published, frozen form. Missing is null, never 0."""

from pydantic import Field, FiniteFloat

from workloads.model import Frozen, TrafficModel
from workloads.profile.arrivals.model import ArrivalProfile, Spectrum
from workloads.profile.lengths.model import DependenceProfile, LengthDistribution, Lengths
from workloads.profile.people.model import ClientProfile, Concurrency, SessionProfile
from workloads.profile.reuse.model import Prefix


class Trait(Frozen):
    """A trait of the traffic, the figures that triggered it, and the techniques to look at first."""

    name: str
    figures: dict[str, FiniteFloat]
    look_at: str
    engine_kind: str


class TraceFigures(Frozen):
    """The figures of one trace. Lengths are as recorded, so requests that failed at the source count with length 0."""

    format: str
    source: str
    digest: str
    num_requests: int
    num_failed: int = Field(description="requests that the source itself recorded as failed")
    span_s: FiniteFloat = Field(description="from first to last arrival")
    rate_rps: FiniteFloat | None = Field(description="gaps over span; None where all requests share one instant")
    input_tokens: Lengths
    output_tokens: Lengths
    answered_input_tokens: Lengths | None = Field(description="without failed requests; None where all failed")
    answered_output_tokens: Lengths | None = Field(description="without failed requests; None where all failed")
    input_distribution: LengthDistribution | None = Field(description="None where no request was answered")
    output_distribution: LengthDistribution | None
    dependence: DependenceProfile | None = Field(description="None where too few requests were answered")
    arrivals: ArrivalProfile
    spectrum: Spectrum | None = Field(description="None where the trace is too short")
    prefix: Prefix | None = Field(description="None where the format has no block ids")
    sessions: SessionProfile | None = Field(description="None where the format has no sessions")
    clients: ClientProfile | None = Field(description="None where the format has no clients")
    concurrency: Concurrency | None = Field(description="None where service times are neither recorded nor stated")
    dropped: dict[str, int] = Field(description="rows of the file that are not counted, by reason")
    notes: tuple[str, ...]


class TraceProfile(TraceFigures):
    """Figures, the traits read off them, and the model that synthesis draws from."""

    traits: tuple[Trait, ...]
    traffic: TrafficModel | None = Field(description="None where no request was answered")
