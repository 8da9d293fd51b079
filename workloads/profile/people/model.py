"""What a profile says of who sends: sessions, clients, and how many requests are in flight at once."""

from typing import Literal

from pydantic import Field, FiniteFloat

from workloads.model import ComposedArrivals, Frozen, SessionModel


class Quantiles(Frozen):
    """A figure over many: median and upper percentiles."""

    mean: FiniteFloat
    p50: FiniteFloat
    p90: FiniteFloat
    p99: FiniteFloat
    max: FiniteFloat


class SessionProfile(Frozen):
    """Conversations, by the trace's own session ids or parents."""

    num_sessions: int
    multi_turn_ratio: FiniteFloat = Field(description="sessions with more than one request")
    turns: Quantiles
    think_s: Quantiles | None = Field(
        description="gap between turns, less service time where known, at least 0; None for single turns"
    )
    is_think_from_arrivals: bool = Field(description="True where service times are unknown, so gaps include the answer")
    model: SessionModel | None


class Client(Frozen):
    """One of the busiest clients, by rank; no identity is kept."""

    rank: int
    share: FiniteFloat
    rate_rps: FiniteFloat | None
    cv: FiniteFloat | None


class ClientProfile(Frozen):
    """How unevenly clients send."""

    num_clients: int
    top_1_share: FiniteFloat
    top_10_share: FiniteFloat
    num_for_half: int = Field(description="fewest clients that send half of the requests")
    top: tuple[Client, ...]
    model: ComposedArrivals | None


class Concurrency(Frozen):
    """Requests in flight, from arrivals and service times."""

    source: Literal["measured", "stated"]
    latency_model: str | None = Field(description="how service times were stated; None where the trace has them")
    mean: FiniteFloat
    p50: FiniteFloat
    p99: FiniteFloat
    peak: int
    peak_at_s: FiniteFloat
    notes: tuple[str, ...] = ()
