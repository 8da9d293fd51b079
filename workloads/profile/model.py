"""What `seatrial profile` says of a trace: a published, frozen form. Missing is null, never 0."""

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Lengths(_Frozen):
    """Token counts over requests; percentiles interpolate linearly between order statistics."""

    mean: FiniteFloat
    p50: FiniteFloat
    p90: FiniteFloat
    p95: FiniteFloat
    p99: FiniteFloat
    max: int
    min: int


class Arrivals(_Frozen):
    """How unevenly requests arrive; None where the trace's time step makes a figure meaningless (see notes)."""

    cv: FiniteFloat | None = Field(description="sample standard deviation over mean of the gaps")
    fano: dict[str, FiniteFloat | None] = Field(
        description="sample variance over mean of counts; keys: window, seconds"
    )
    resolution_s: FiniteFloat = Field(description="time step of the format")
    grid_s: FiniteFloat = Field(description="time step on which arrivals lie")
    max_gap_s: FiniteFloat | None


class LruPoint(_Frozen):
    """What a cache of limited size would have reused, evicting the least recently used block."""

    capacity_tokens: int
    block_hit_ratio: FiniteFloat


class Prefix(_Frozen):
    """Reuse of prompt blocks across requests, from the trace's own block ids."""

    block_tokens: int
    num_blocks: int
    num_distinct_blocks: int
    token_reuse_ratio: FiniteFloat = Field(description="reused over all input tokens, with an infinite cache")
    block_reuse_ratio: FiniteFloat = Field(description="reused over all blocks, with an infinite cache")
    block_reuse_ratio_without_first: FiniteFloat = Field(
        description="reused blocks that are not a prompt's first, over all blocks, with an infinite cache"
    )
    lru: tuple[LruPoint, ...] = Field(description="empty where the trace is too long to replay through a cache")


class TraceProfile(_Frozen):
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
    arrivals: Arrivals
    prefix: Prefix | None = Field(description="None where the format has no block ids")
    dropped: dict[str, int] = Field(description="rows of the file that are not counted, by reason")
    notes: tuple[str, ...]
