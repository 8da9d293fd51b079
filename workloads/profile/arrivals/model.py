"""What a profile says of arrivals: how uneven they are on every time scale, and which process explains that."""

from typing import Literal

from pydantic import Field, FiniteFloat

from workloads.model import ArrivalModel, Frozen, GridArrivals, PiecewiseArrivals

VerdictKind = Literal["poisson", "renewal", "drifting poisson", "on/off", "grid", "cannot tell"]


class Evidence(Frozen):
    """One figure that a verdict rests on, and what it says."""

    name: str
    value: FiniteFloat
    says: str


class Verdict(Frozen):
    """Which process the arrivals come from, in one sentence, with its evidence and its fitted parameters."""

    kind: VerdictKind
    sentence: str
    evidence: tuple[Evidence, ...]
    model: ArrivalModel | None


class ChangePoint(Frozen):
    """A time at which the rate changed for good."""

    at_s: FiniteFloat
    rate_before_rps: FiniteFloat
    rate_after_rps: FiniteFloat


class ArrivalProfile(Frozen):
    """How unevenly requests arrive; None where time step or length makes a figure meaningless (see notes)."""

    cv: FiniteFloat | None = Field(description="sample standard deviation over mean of the gaps")
    fano: dict[str, FiniteFloat | None] = Field(
        description="sample variance over mean of counts; keys: window, seconds, 1 s to 1 h"
    )
    peak_over_mean: dict[str, FiniteFloat | None] = Field(
        description="busiest window over the mean; keys: window, seconds"
    )
    count_autocorrelation: dict[str, FiniteFloat | None] = Field(
        description="of counts in 1 s windows; keys: lag, seconds"
    )
    gap_autocorrelation: dict[str, FiniteFloat | None] = Field(description="of consecutive gaps; keys: lag, gaps")
    resolution_s: FiniteFloat = Field(description="time step of the format")
    grid_s: FiniteFloat = Field(description="time step on which arrivals lie")
    max_gap_s: FiniteFloat | None
    verdict: Verdict
    change_points: tuple[ChangePoint, ...]
    curve: PiecewiseArrivals | GridArrivals = Field(
        description="the measured rate over time, less what chance adds to it"
    )


class Peak(Frozen):
    """A peak of the spectrum; a period is named only when at least three of it were seen."""

    period_s: FiniteFloat
    density: FiniteFloat
    false_alarm_p: FiniteFloat = Field(description="chance that a Poisson process has so high a peak anywhere")
    drift_false_alarm_p: FiniteFloat | None = Field(
        default=None, description="the same for a process whose rate drifts, its spectrum fitted to the trace's"
    )
    num_periods_seen: FiniteFloat
    is_named: bool


class Spectrum(Frozen):
    """Power of the counts over frequency, one-sided; a Poisson process's is flat at twice the mean rate."""

    bin_s: FiniteFloat
    frequency_hz: tuple[FiniteFloat, ...] = Field(description="Welch's estimate, thinned for the page")
    density: tuple[FiniteFloat, ...]
    null_density: FiniteFloat
    null_low: FiniteFloat = Field(description="2.5 % of a Poisson process's estimates lie below, at each frequency")
    null_high: FiniteFloat
    false_alarm_density: FiniteFloat = Field(description="level that a Poisson process passes once in 100 traces")
    peaks: tuple[Peak, ...]
    notes: tuple[str, ...]
