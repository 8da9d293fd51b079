"""How requests arrive, as parameters from which arrivals can be made. Rates are relative; the load gives the mean rate.

Times of a model are seconds of its own time; compressing it is the workload's choice.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from workloads.model.frozen import Frozen

Weights = Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)]


class PoissonArrivals(Frozen):
    """Independent arrivals at one rate."""

    kind: Literal["poisson"] = "poisson"


class RenewalArrivals(Frozen):
    """Independent gaps of one family; `cv` is their coefficient of variation, 0 for even gaps."""

    kind: Literal["renewal"] = "renewal"
    family: Literal["gamma", "weibull"] = "gamma"
    cv: float = Field(ge=0)


class PiecewiseArrivals(Frozen):
    """A rate that is constant inside bins of `bin_s`; inside them gaps are gamma with this `cv` in operational time.

    `weights` are relative rates, one a bin; traffic longer than the curve goes on with its beginning.
    """

    kind: Literal["piecewise"] = "piecewise"
    bin_s: float = Field(gt=0)
    weights: Weights
    cv: float = Field(default=1.0, ge=0)

    @model_validator(mode="after")
    def _has_rate(self) -> "PiecewiseArrivals":
        if not any(self.weights):
            raise ValueError("expected a weight above 0, seen only zeros")
        return self


class Harmonic(Frozen):
    """One wave of the rate: relative amplitude, and the time of its first crest."""

    period_s: float = Field(gt=0)
    amplitude: float = Field(ge=0, le=1)
    crest_s: float = Field(ge=0)


class HarmonicArrivals(Frozen):
    """A Poisson process whose rate is 1 plus waves, never below 0."""

    kind: Literal["harmonic"] = "harmonic"
    waves: tuple[Harmonic, ...] = Field(min_length=1)


class MmppArrivals(Frozen):
    """A Poisson process whose rate jumps between states; each state has a relative rate and a mean stay."""

    kind: Literal["mmpp"] = "mmpp"
    rates: Weights
    mean_stay_s: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _fits(self) -> "MmppArrivals":
        if len(self.rates) != len(self.mean_stay_s) or len(self.rates) < 2 or not any(self.rates):  # noqa: PLR2004 - one state is Poisson
            raise ValueError("expected a rate and a mean stay for each of at least two states, and a rate above 0")
        return self


class GridArrivals(Frozen):
    """Batches on a grid of `step_s`: relative batch sizes, one a cell; requests are spread inside their cells."""

    kind: Literal["grid"] = "grid"
    step_s: float = Field(gt=0)
    weights: Weights


class ClientArrivals(Frozen):
    """One client: its share of the requests, and the coefficient of variation of its gamma gaps."""

    share: float = Field(gt=0, le=1)
    cv: float = Field(gt=0)


class ComposedArrivals(Frozen):
    """Independent clients side by side; what they have to themselves is their rate and their burstiness."""

    kind: Literal["clients"] = "clients"
    clients: tuple[ClientArrivals, ...] = Field(min_length=1)


ArrivalModel = Annotated[
    PoissonArrivals
    | RenewalArrivals
    | PiecewiseArrivals
    | HarmonicArrivals
    | MmppArrivals
    | GridArrivals
    | ComposedArrivals,
    Field(discriminator="kind"),
]
