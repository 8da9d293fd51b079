"""A sample's mean and percentiles, how far off they may be, and what the sample is too thin to say."""

from typing import Literal

from pydantic import Field, FiniteFloat

from orchestrator.domain.published import Published

Part = Literal["mean", "p50", "p90", "p95", "p99", "p999"]


class Interval(Published):
    """A two-sided 95 % confidence interval, in the unit of what it bounds."""

    low: FiniteFloat
    high: FiniteFloat


class Distribution(Published):
    """A sample's mean and percentiles, in the unit of its name; None where the sample is too thin (GLOSSARY)."""

    mean: FiniteFloat | None
    p50: FiniteFloat | None
    p90: FiniteFloat | None
    p95: FiniteFloat | None
    p99: FiniteFloat | None
    p999: FiniteFloat | None
    count: int
    effective_count: FiniteFloat | None = Field(
        default=None, description="independent values that would tell as much; None: not estimated"
    )
    intervals: dict[Part, Interval] = Field(
        default_factory=dict, description="95 % intervals that respect dependence in time, of the parts that carry one"
    )
    needed: dict[Part, int] = Field(
        default_factory=dict, description="of each withheld percentile: how many values would carry it"
    )
