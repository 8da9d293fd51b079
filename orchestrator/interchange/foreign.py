"""Another tool's result in our words: what it says, what it does not, and what was not understood of it.

A figure stands here only where its definition is ours; one that is defined otherwise is left out or put under the name
that it deserves, and a note says so. Nothing is computed from what a file does not hold.
"""

from typing import Literal

from pydantic import Field, FiniteFloat

from orchestrator.domain.published import Published

SCHEMA: Literal["seatrial.foreign/1"] = "seatrial.foreign/1"
Tool = Literal["vllm-bench", "guidellm", "aiperf"]


class ForeignSample(Published):
    """A sample's figures as another tool reports them, whatever its size; None where it reports none."""

    mean: FiniteFloat | None = None
    p50: FiniteFloat | None = None
    p90: FiniteFloat | None = None
    p95: FiniteFloat | None = None
    p99: FiniteFloat | None = None
    p999: FiniteFloat | None = None
    count: int | None = None


class ForeignMeasurement(Published):
    """What another tool measured at one load, under the names of a measurement; seconds, tokens, requests."""

    schema_: Literal["seatrial.foreign/1"] = Field(default=SCHEMA, serialization_alias="schema")
    tool: Tool
    tool_version: str | None = Field(description="None where the file does not say")
    mode: Literal["open", "closed"] | None = None
    offered_rps: FiniteFloat | None = None
    users: int | None = None
    num_issued: int | None = None
    num_completed: int | None = None
    num_failed: int | None = None
    window_s: FiniteFloat | None = None
    requests_per_s: FiniteFloat | None = None
    output_tokens_per_s: FiniteFloat | None = None
    goodput_rps: FiniteFloat | None = None
    slo_attainment: FiniteFloat | None = None
    ttft_s: ForeignSample | None = None
    itl_s: ForeignSample | None = None
    chunk_gap_s: ForeignSample | None = None
    tpot_s: ForeignSample | None = None
    e2e_s: ForeignSample | None = None
    input_tokens: ForeignSample | None = None
    output_tokens: ForeignSample | None = None
    notes: tuple[str, ...] = Field(default=(), description="where its definitions are not ours")
    not_understood: tuple[str, ...] = Field(default=(), description="keys of the file that were not read")

    def to_json(self) -> str:
        """Spell it in its published form, one line."""
        return self.model_dump_json(by_alias=True)


NO_CLIENT_VERDICT = "it says nothing of its own lateness: whether the client held the load up is unknown"
EVERY_PERCENTILE = "it reports percentiles of a sample of any size; ours are withheld where the tail is too thin"
