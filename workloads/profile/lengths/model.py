"""What a profile says of lengths: their quantiles first, then which families come near them, and how near."""

from typing import Literal

from pydantic import Field, FiniteFloat

from workloads.model import FamilyName, Frozen, QuantileLengths


class Lengths(Frozen):
    """Token counts over requests; percentiles interpolate linearly between order statistics."""

    mean: FiniteFloat
    p50: FiniteFloat
    p90: FiniteFloat
    p95: FiniteFloat
    p99: FiniteFloat
    max: int
    min: int


class Fit(Frozen):
    """One family fitted by maximum likelihood, censored at caps, to whole token counts."""

    family: FamilyName
    parameters: dict[str, FiniteFloat]
    log_likelihood: FiniteFloat
    aic: FiniteFloat
    ks: FiniteFloat = Field(description="largest distance between the two distribution functions")
    ad: FiniteFloat | None = Field(
        description="Anderson-Darling distance, which weighs the tails: A^2 over requests; None where not defined"
    )
    bootstrap_p: FiniteFloat | None = Field(
        description="share of samples of the fitted family, fitted anew, that lie at least as far, the data itself "
        "counted with them; None where not run"
    )


class Cap(Frozen):
    """A length at which requests pile up: longer ones were cut there, so it is a bound and not a length."""

    tokens: int = Field(description="shortest length of the pile, which may be a few tokens wide")
    num_requests: int = Field(description="requests of this length or more")
    share: FiniteFloat


class Tail(Frozen):
    """Whether the tail is a power law, by likelihood ratio against the lognormal above the chosen x_min."""

    is_power_law: Literal["yes", "no", "cannot tell"]
    x_min: int | None
    alpha: FiniteFloat | None = Field(description="exponent of the density")
    num_tail: int
    log_likelihood_ratio: FiniteFloat | None = Field(description="normalised; above 0 speaks for the power law")
    p: FiniteFloat | None = Field(description="chance of a ratio as far from 0 if both were as near (Vuong 1989)")
    reason: str


class LengthDistribution(Frozen):
    """The distribution of one length over answered requests. `fits` come nearest first, by AIC."""

    num_requests: int
    quantiles: QuantileLengths
    caps: tuple[Cap, ...]
    fits: tuple[Fit, ...]
    tail: Tail
    num_fitted: int = Field(description="requests that were fitted: a seeded sample of long traces")
    notes: tuple[str, ...]


class DependenceProfile(Frozen):
    """How input and output lengths go together: Spearman's rank correlation, 95 % interval."""

    rank_correlation: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    num_requests: int
